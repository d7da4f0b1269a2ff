// The limits on label and field selectors. A watch keeps each requirement in memory, and evaluates it for each object.

import { type FieldError, formatFieldError, tooLong, tooMany } from '../../kubernetes/field-error.ts';
import type { Selectors } from '../../kubernetes/selection.ts';
import { badRequest } from '../../kubernetes/status.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';

/** Maximum length of one selector, in bytes. */
export const MAX_SELECTOR_BYTES = 1_024;
/** Maximum number of requirements in both selectors together. */
const MAX_REQUIREMENTS = 32;
/** Maximum number of values in both selectors together. */
const MAX_VALUES = 64;

type SelectorTexts = Pick<ListOptions, 'labelSelector' | 'fieldSelector'>;

/** Copies both selectors, so that no part of them keeps the whole URL in memory. Throws 400 for a selector that is too long. */
export function copySelectors({ labelSelector, fieldSelector }: SelectorTexts): SelectorTexts {
  return { labelSelector: copySelector('labelSelector', labelSelector), fieldSelector: copySelector('fieldSelector', fieldSelector) };
}

/** Throws 400 for selectors with too many requirements or values. */
export function checkSelectorCounts({ labels, fields }: Selectors): void {
  const requirements = labels.length + fields.length;
  if (requirements > MAX_REQUIREMENTS) throw tooLarge(tooMany('labelSelector, fieldSelector', requirements, MAX_REQUIREMENTS));
  const values = labels.reduce((sum, requirement) => sum + requirement.values.length, fields.length);
  if (values > MAX_VALUES) throw tooLarge(tooMany('values of labelSelector, fieldSelector', values, MAX_VALUES));
}

function copySelector(field: string, text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_SELECTOR_BYTES) throw tooLarge(tooLong(field, MAX_SELECTOR_BYTES));
  return bytes.toString();
}

function tooLarge(error: FieldError): Error {
  return badRequest(`${formatFieldError(error)}; send several requests with smaller selectors, or filter the response`);
}
