// Validation of names. Each check returns problems with Kubernetes' messages; an empty list means valid.

/** Validates names of most objects. */
export function dns1123SubdomainProblems(value: string): readonly string[] {
  return [...lengthProblems(253, value, 'characters'), ...formProblems(SUBDOMAIN, value)];
}

/** Validates names of namespaces. */
export function dns1123LabelProblems(value: string): readonly string[] {
  const tooLong = lengthProblems(63, value, 'characters');
  if (SUBDOMAIN.pattern.test(value) && !LABEL.pattern.test(value)) return [...tooLong, 'must not contain dots'];
  return [...tooLong, ...formProblems(LABEL, value)];
}

/** Validates keys of labels and annotations, and finalizers: `name` or `prefix/name`. */
export function qualifiedNameProblems(value: string): readonly string[] {
  const parts = value.split('/');
  if (parts.length > 2) {
    return [`a valid label key ${mismatch(KEY)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const name = parts.at(-1)!;
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return [
    ...(prefix === undefined ? [] : nonEmptyProblems(prefix, prefixProblems)).map((problem) => `prefix part ${problem}`),
    ...[...nonEmptyProblems(name, (text) => lengthProblems(63, text, 'bytes')), ...formProblems(KEY, name)].map(
      (problem) => `name part ${problem}`,
    ),
  ];
}

function prefixProblems(value: string): readonly string[] {
  return [...lengthProblems(253, value, 'bytes'), ...formProblems(SUBDOMAIN, value)];
}

/** Validates values of labels. */
export function labelValueProblems(value: string): readonly string[] {
  return [...lengthProblems(63, value, 'bytes'), ...formProblems(LABEL_VALUE, value)];
}

/** Validates names that must be one segment of a URL path, such as names of roles. */
export function pathSegmentProblems(value: string): readonly string[] {
  return value === '.' || value === '..' ? [`may not be '${value}'`] : pathSegmentPrefixProblems(value);
}

/** Validates prefixes of names that must be one segment of a URL path. */
export function pathSegmentPrefixProblems(value: string): readonly string[] {
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

interface Form {
  readonly source: string;
  readonly pattern: RegExp;
  readonly rule: string;
  readonly examples: readonly string[];
}

function form(source: string, rule: string, examples: readonly string[]): Form {
  return { source, pattern: new RegExp(`^${source}$`), rule, examples };
}

const ALPHANUMERIC_ENDS = 'and must start and end with an alphanumeric character';
const LABEL_SOURCE = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const KEY_SOURCE = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const LABEL = form(
  LABEL_SOURCE,
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ALPHANUMERIC_ENDS}`,
  ['my-name', '123-abc'],
);
const SUBDOMAIN = form(
  `${LABEL_SOURCE}(\\.${LABEL_SOURCE})*`,
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ALPHANUMERIC_ENDS}`,
  ['example.com'],
);
const KEY = form(KEY_SOURCE, `must consist of alphanumeric characters, '-', '_' or '.', ${ALPHANUMERIC_ENDS}`, [
  'MyName',
  'my.name',
  '123-abc',
]);
const LABEL_VALUE = form(
  `(${KEY_SOURCE})?`,
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${ALPHANUMERIC_ENDS}`,
  ['MyValue', 'my_value', '12345'],
);

/** Patterns of names, without their maximum lengths. */
export const NamePattern = { label: LABEL.pattern.source, subdomain: SUBDOMAIN.pattern.source } as const;

/** Regular expressions of label keys and values, for use in longer patterns. They limit every length except that of the key prefix. */
export const LabelSource = {
  key: `(${SUBDOMAIN.source}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`,
  value: '([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?',
} as const;

function formProblems(expected: Form, value: string): readonly string[] {
  return expected.pattern.test(value) ? [] : [mismatch(expected)];
}

function mismatch({ rule, examples, source }: Form): string {
  const quoted = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${quoted}regex used for validation is '${source}')`;
}

/** Checks the length in bytes. Kubernetes' messages about names contain `characters` instead of `bytes`. */
function lengthProblems(max: number, value: string, unit: 'bytes' | 'characters'): readonly string[] {
  return Buffer.byteLength(value) > max ? [`must be no more than ${max} ${unit}`] : [];
}

function nonEmptyProblems(value: string, problems: (value: string) => readonly string[]): readonly string[] {
  return value === '' ? ['must be non-empty'] : problems(value);
}
