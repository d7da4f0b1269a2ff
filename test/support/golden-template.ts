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
    const stand = actual.startsWith(expected) ? standFor(found, actual, expected.length) : undefined;
    if (stand === undefined) break;
    stands.push(stand);
    expected += stand.kind === 'continue' ? withRevision(stand.recorded, () => revisionOf(stand.actual)) : stand.actual;
    read += stand.recorded.length;
  }
  return { stands, expected: expected + recorded.slice(read) };
}

/** The continue token with another revision in place of its own; what is no continue token stays as it is. */
export function withRevision(continueToken: string, revision: (own: string) => string): string {
  const text = Buffer.from(continueToken, 'base64url').toString();
  const rewritten = text.replace(REVISION_OF_TOKEN, revision);
  return rewritten === text ? continueToken : Buffer.from(rewritten).toString('base64url');
}

/** The revision of the list that a continue token goes on with. */
export function revisionOf(continueToken: string): string {
  return REVISION_OF_TOKEN.exec(Buffer.from(continueToken, 'base64url').toString())?.[0] ?? '';
}

const REVISION_OF_TOKEN = /(?<="rv":)\d+/;
/** Revisions that no server hands out stand for themselves, wherever they occur. */
const REVISION = '(?!0*[01]\\b)\\d+';
const UID = '(?!(?<digit>[\\da-f])\\k<digit>{7}-)[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';

/** What depends on the run, by kind. Midnight is only ever written by the requests themselves. */
const KINDS: Readonly<Record<string, { readonly recorded: string; readonly actual?: string }>> = {
  continue: { recorded: 'eyJ2IjoibWV0YS5rOHMuaW8vdjEi[\\w-]+' },
  token: { recorded: '<jwt>', actual: 'eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+' },
  uid: { recorded: UID, actual: UID },
  time: { recorded: '\\d{4}-\\d\\d-\\d\\dT(?!00:00:00)\\d\\d:\\d\\d:\\d\\dZ', actual: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ' },
  revision: { recorded: `(?<=resourceVersion"?: ?")${REVISION}` },
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

function standFor(found: RegExpExecArray, actual: string, at: number): Stand | undefined {
  const kind = Object.keys(KINDS).find((name) => found.groups?.[name] !== undefined) as string;
  const pattern = new RegExp(KINDS[kind]?.actual ?? KINDS[kind]?.recorded ?? '', 'y');
  pattern.lastIndex = at;
  const text = pattern.exec(actual)?.[0];
  return text === undefined ? undefined : { kind, recorded: found[0], actual: text };
}
