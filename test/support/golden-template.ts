// A recorded answer as a template: what depends on the run matches anything of its kind, everything else must be equal.

/** A value of the recording and the one that stands in its place in this run. */
export interface Stand {
  readonly kind: string;
  readonly recorded: string;
  readonly actual: string;
}

export interface Match {
  readonly stands: readonly Stand[];
  /** The recording with this run's values, as far as both agree; equal to the actual text if they do throughout. */
  readonly expected: string;
}

/** Holds a recorded text against an actual one. */
export function matchTemplate(recorded: string, actual: string): Match {
  const stands: Stand[] = [];
  let expected = '';
  let read = 0;
  for (const found of recorded.matchAll(ANY_KIND)) {
    expected += recorded.slice(read, found.index);
    read = found.index;
    const match = actual.startsWith(expected) ? matchValue(found, actual, expected.length) : undefined;
    if (match === undefined) break;
    stands.push(...match.stands);
    expected += match.expected;
    read += found[0].length;
  }
  return { stands, expected: expected + recorded.slice(read) };
}

/** A continue token rewritten as the text it encodes. */
export function rewriteContinueToken(token: string, rewrite: (text: string) => string): string {
  return Buffer.from(rewrite(Buffer.from(token, 'base64url').toString())).toString('base64url');
}

/** Revisions that no server hands out stand for themselves, wherever they occur. */
const REVISION = '(?!0*[01]\\b)\\d+';
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
    : { stands: [{ kind, recorded: found[0], actual: text }], expected: text };
}

function matchContinueToken(recorded: string, actual: string): Match {
  const [template, text] = [recorded, actual].map((token) => Buffer.from(token, 'base64url').toString()) as [string, string];
  const { stands, expected } = matchTemplate(template, text);
  return { stands, expected: Buffer.from(expected).toString('base64url') };
}
