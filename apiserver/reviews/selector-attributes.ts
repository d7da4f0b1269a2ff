// The selectors of an access review. No rule looks at them, but they must make sense, and what is not understood is said.

import { type FieldError, forbiddenValue, invalidValue, requiredValue } from '../../src/kubernetes/field-error.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../src/kubernetes/names.ts';
import { parseFieldSelector } from '../../src/kubernetes/selectors/field-selector.ts';
import { parseLabelSelector } from '../../src/kubernetes/selectors/label-selector.ts';
import { SelectorError } from '../../src/kubernetes/selectors/selector.ts';

export interface SelectorAttributes {
  readonly fieldSelector?: ReviewedSelector;
  readonly labelSelector?: ReviewedSelector;
}

interface ReviewedSelector {
  readonly rawSelector?: string;
  readonly requirements?: readonly Requirement[];
}

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

const PATH = 'spec.resourceAttributes';

/** What is wrong with the selectors. Operators that we do not know are not: newer clients may send them. */
export function selectorErrors({ fieldSelector, labelSelector }: SelectorAttributes = {}): readonly FieldError[] {
  return [
    ...(fieldSelector ? errorsOf(fieldSelector, `${PATH}.fieldSelector`, fieldKeyErrors) : []),
    ...(labelSelector ? errorsOf(labelSelector, `${PATH}.labelSelector`, labelErrors) : []),
  ];
}

/** Which selectors were not understood, whole or in part. */
export function selectorWarnings({ fieldSelector, labelSelector }: SelectorAttributes = {}): readonly string[] {
  return [
    ...(fieldSelector ? ignored(fieldSelector, `${PATH}.fieldSelector`, parseFieldSelector, isFieldRequirement) : []),
    ...(labelSelector ? ignored(labelSelector, `${PATH}.labelSelector`, parseLabelSelector, isLabelRequirement) : []),
  ];
}

type RequirementErrors = (requirement: Requirement, field: string) => readonly FieldError[];

function errorsOf(
  { rawSelector = '', requirements = [] }: ReviewedSelector,
  field: string,
  more: RequirementErrors,
): readonly FieldError[] {
  const isBoth = rawSelector !== '' && requirements.length > 0;
  const isNeither = rawSelector === '' && requirements.length === 0;
  return [
    ...(isBoth ? [invalidValue(`${field}.rawSelector`, rawSelector, 'may not specified at the same time as requirements')] : []),
    ...(isNeither ? [requiredValue(`${field}.requirements`, `when ${field} is specified, requirements or rawSelector is required`)] : []),
    ...requirements.flatMap((requirement, index) => more(requirement, `${field}.requirements[${index}]`)),
  ];
}

const fieldKeyErrors: RequirementErrors = (requirement, field) => [
  ...((requirement.key ?? '') === '' ? [requiredValue(`${field}.key`, 'must be specified')] : []),
  ...countErrors(requirement, field),
];

const labelErrors: RequirementErrors = (requirement, field) => {
  const { key = '', values = [] } = requirement;
  return [
    ...countErrors(requirement, field),
    ...qualifiedNameProblems(key).map((problem) => invalidValue(`${field}.key`, key, problem)),
    ...values.flatMap((value, index) =>
      labelValueProblems(value).map((problem) => invalidValue(`${field}.values[${index}]`, value, problem)),
    ),
  ];
};

function countErrors({ operator = '', values = [] }: Requirement, field: string): readonly FieldError[] {
  if (['In', 'NotIn'].includes(operator) && values.length === 0) {
    return [requiredValue(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if (['Exists', 'DoesNotExist'].includes(operator) && values.length > 0) {
    return [forbiddenValue(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [];
}

function ignored(
  { rawSelector = '', requirements = [] }: ReviewedSelector,
  field: string,
  parse: (text: string) => unknown,
  isKnown: (requirement: Requirement) => boolean,
): readonly string[] {
  const known = requirements.filter(isKnown).length;
  if (known === requirements.length && (rawSelector === '' || parses(rawSelector, parse))) return [];
  return [`${field} ${known > 0 ? 'partially ' : ''}ignored due to parse error`];
}

function parses(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}

/** A field can only be compared with one value. */
function isFieldRequirement({ operator = '', values = [] }: Requirement): boolean {
  return ['In', 'NotIn'].includes(operator) && values.length === 1;
}

function isLabelRequirement({ operator = '' }: Requirement): boolean {
  return ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator);
}
