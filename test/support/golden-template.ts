// Comparison with a recorded response as a template: values that depend on the run match any value of their kind; all other text must be
// equal.

/** Value of the recording, and the corresponding value of this run. */
export interface Substitution {
  readonly kind: string;
  readonly recorded: string;
  readonly actual: string;
}

export interface Match {
  readonly substitutions: readonly Substitution[];
  /** Recorded text with the values of this run up to the first difference; equal to the actual text if there is none. */
  readonly expected: string;
}

/** Compares a recorded text with an actual one. */
export function matchTemplate(recorded: string, actual: string): Match {
  const substitutions: Substitution[] = [];
  let expected = '';
  let read = 0;
  for (const found of recorded.matchAll(ANY_KIND)) {
    expected += recorded.slice(read, found.index);
    read = found.index;
    const match = actual.startsWith(expected) ? matchValue(found, actual, expected.length) : undefined;
    if (match === undefined) break;
    substitutions.push(...match.substitutions);
    expected += match.expected;
    read += found[0].length;
  }
  return { substitutions, expected: expected + recorded.slice(read) };
}

/** Rewrites the text that a continue token encodes. */
export function rewriteContinueToken(token: string, rewrite: (text: string) => string): string {
  return Buffer.from(rewrite(Buffer.from(token, 'base64url').toString())).toString('base64url');
}

/** Pattern of a revision. Servers never assign 0 and 1, so these must be equal. */
const REVISION = '(?!0*[01]\\b)\\d+';
/** Pattern of a UID. One that starts with eight equal digits is from a request and must be equal. */
const UID = '(?!(?<digit>[\\da-f])\\k<digit>{7}-)[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';

/** Patterns of values that depend on the run, by kind. Only requests contain midnight. */
const KINDS: Readonly<Record<string, { readonly recorded: string; readonly actual?: string }>> = {
  continue: { recorded: 'eyJ2IjoibWV0YS5rOHMuaW8vdjEi[\\w-]+' },
  token: { recorded: '<jwt>', actual: 'eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+' },
  uid: { recorded: UID, actual: UID },
  time: { recorded: '\\d{4}-\\d\\d-\\d\\dT(?!00:00:00)\\d\\d:\\d\\d:\\d\\dZ', actual: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ' },
  revision: { recorded: `(?<=resourceVersion"?: ?"|"rv":)${REVISION}` },
  revisionInMessage: { recorded: `(?<=resource version: |current: |resource version: \\d+ \\()${REVISION}` },
  age: { recorded: '(?<=,")\\d+s(?="\\],"object")' },
  generatedName: { recorded: '\\bgen-[a-z\\d]{5}\\b' },
  address: { recorded: '127\\.0\\.0\\.1:\\d+' },
  schemeSource: { recorded: '(?<=in scheme \\\\")[^"\\\\]+' },
  keyId: { recorded: '(?<="kid":")[\\w-]+' },
  keyModulus: { recorded: '(?<="n":")[\\w-]+' },
  openApiHash: { recorded: '(?<=\\?hash=)[\\dA-F]+' },
};

const ANY_KIND = new RegExp(
  Object.entries(KINDS)
    .map(([kind, { recorded }]) => `(?<${kind}>${recorded})`)
    .join('|'),
  'g',
);

function matchValue(found: RegExpExecArray, actual: string, at: number): Match | undefined {
  const kind = Object.keys(KINDS).find((name) => found.groups?.[name] !== undefined) as string;
  const pattern = new RegExp(KINDS[kind]?.actual ?? KINDS[kind]?.recorded ?? '', 'y');
  pattern.lastIndex = at;
  const text = pattern.exec(actual)?.[0];
  if (text === undefined) return undefined;
  return kind === 'continue'
    ? matchContinueToken(found[0], text)
    : { substitutions: [{ kind, recorded: found[0], actual: text }], expected: text };
}

function matchContinueToken(recorded: string, actual: string): Match {
  const [template, text] = [recorded, actual].map((token) => Buffer.from(token, 'base64url').toString()) as [string, string];
  const { substitutions, expected } = matchTemplate(template, text);
  return { substitutions, expected: Buffer.from(expected).toString('base64url') };
}
