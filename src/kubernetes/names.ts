// Validation of names. Each check returns problems with Kubernetes' messages; an empty list means valid.

/** Validates names of most objects. */
export function validateDns1123Subdomain(value: string): readonly string[] {
  return [...validateLength(253, value, 'characters'), ...validateForm(SUBDOMAIN, value)];
}

/** Validates names of namespaces. */
export function validateDns1123Label(value: string): readonly string[] {
  const tooLong = validateLength(63, value, 'characters');
  if (SUBDOMAIN.pattern.test(value) && !LABEL.pattern.test(value)) return [...tooLong, 'must not contain dots'];
  return [...tooLong, ...validateForm(LABEL, value)];
}

/** Validates keys of labels and annotations, and finalizers: `name` or `prefix/name`. */
export function validateQualifiedName(value: string): readonly string[] {
  const parts = value.split('/');
  if (parts.length > 2) {
    return [`a valid label key ${formatMismatch(KEY)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const name = parts.at(-1)!;
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return [
    ...(prefix === undefined ? [] : validateNonEmpty(prefix, validatePrefix)).map((problem) => `prefix part ${problem}`),
    ...[...validateNonEmpty(name, (text) => validateLength(63, text, 'bytes')), ...validateForm(KEY, name)].map(
      (problem) => `name part ${problem}`,
    ),
  ];
}

function validatePrefix(value: string): readonly string[] {
  return [...validateLength(253, value, 'bytes'), ...validateForm(SUBDOMAIN, value)];
}

/** Validates values of labels. */
export function validateLabelValue(value: string): readonly string[] {
  return [...validateLength(63, value, 'bytes'), ...validateForm(LABEL_VALUE, value)];
}

/** Validates names that must be one segment of a URL path, such as names of roles. */
export function validatePathSegment(value: string): readonly string[] {
  return value === '.' || value === '..' ? [`may not be '${value}'`] : validatePathSegmentPrefix(value);
}

/** Validates prefixes of names that must be one segment of a URL path. */
export function validatePathSegmentPrefix(value: string): readonly string[] {
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

interface Form {
  readonly source: string;
  readonly pattern: RegExp;
  readonly rule: string;
  readonly examples: readonly string[];
}

function createForm(source: string, rule: string, examples: readonly string[]): Form {
  return { source, pattern: new RegExp(`^${source}$`), rule, examples };
}

const ALPHANUMERIC_ENDS = 'and must start and end with an alphanumeric character';
const LABEL_SOURCE = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const KEY_SOURCE = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const LABEL = createForm(
  LABEL_SOURCE,
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ALPHANUMERIC_ENDS}`,
  ['my-name', '123-abc'],
);
const SUBDOMAIN = createForm(
  `${LABEL_SOURCE}(\\.${LABEL_SOURCE})*`,
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ALPHANUMERIC_ENDS}`,
  ['example.com'],
);
const KEY = createForm(KEY_SOURCE, `must consist of alphanumeric characters, '-', '_' or '.', ${ALPHANUMERIC_ENDS}`, [
  'MyName',
  'my.name',
  '123-abc',
]);
const LABEL_VALUE = createForm(
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

function validateForm(expected: Form, value: string): readonly string[] {
  return expected.pattern.test(value) ? [] : [formatMismatch(expected)];
}

function formatMismatch({ rule, examples, source }: Form): string {
  const quoted = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${quoted}regex used for validation is '${source}')`;
}

/** Checks the length in bytes. Kubernetes' messages about names contain `characters` instead of `bytes`. */
function validateLength(max: number, value: string, unit: 'bytes' | 'characters'): readonly string[] {
  return Buffer.byteLength(value) > max ? [`must be no more than ${max} ${unit}`] : [];
}

function validateNonEmpty(value: string, problems: (value: string) => readonly string[]): readonly string[] {
  return value === '' ? ['must be non-empty'] : problems(value);
}
