// The conversion of a CustomResourceDefinition. Objects are stored and served as they are; there is nobody to convert them.

import { type FieldError, forbiddenValue, requiredValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import { isList } from '../../../src/kubernetes/object.ts';
import type { Conversion } from './types.ts';

const STRATEGY = 'spec.conversion.strategy';
const CONFIG = 'spec.conversion.webhookClientConfig';
const REVIEWS = 'spec.conversion.conversionReviewVersions';
const STRATEGIES = ['None', 'Webhook'];

/** What is wrong with a conversion. */
export function conversionErrors(conversion: Conversion | undefined): readonly FieldError[] {
  if (conversion === undefined) return [];
  const { strategy = '' } = conversion;
  if (strategy === 'Webhook') return webhookErrors(conversion);
  const unknown = strategy === '' ? requiredValue(STRATEGY) : unsupportedValue(STRATEGY, strategy, STRATEGIES);
  const detail = 'should not be set when strategy is not set to Webhook';
  return [
    ...(strategy === 'None' ? [] : [unknown]),
    ...(conversion.webhook?.['clientConfig'] === undefined ? [] : [forbiddenValue(CONFIG, detail)]),
    ...(hasReviews(conversion) ? [forbiddenValue(REVIEWS, detail)] : []),
  ];
}

function webhookErrors(conversion: Conversion): readonly FieldError[] {
  const missing = [
    ...(conversion.webhook?.['clientConfig'] === undefined ? [requiredValue(CONFIG, 'required when strategy is set to Webhook')] : []),
    ...(hasReviews(conversion) ? [] : [requiredValue(REVIEWS)]),
  ];
  return missing.length > 0 ? missing : [forbiddenValue(STRATEGY, 'conversion webhooks are not supported by this server')];
}

function hasReviews({ webhook }: Conversion): boolean {
  const versions = webhook?.['conversionReviewVersions'];
  return isList(versions) && versions.length > 0;
}
