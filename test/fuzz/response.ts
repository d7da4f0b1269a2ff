// Responses in the form in which both servers must agree: without values that depend on time and server.

import { parse as parseYaml } from 'yaml';
import type { ApiResponse } from '../support/api-request.ts';
import { type FuzzRequest, isWatch, type Side } from './request.ts';

/** The compared parts of a response. */
export interface Comparable {
  readonly status: number;
  /** Compared headers; absent ones are empty. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text; for lists, watches and gets, one line of JSON per object, after a line with the format. */
  readonly body: string;
}

const HEADERS = ['content-type', 'allow', 'www-authenticate', 'cache-control', 'content-encoding', 'location', 'warning'];

/** Returns the comparable form of a response. */
export function toComparable(side: Side, request: FuzzRequest, { status, headers, body }: ApiResponse): Comparable {
  const compared = Object.fromEntries(HEADERS.map((name) => [name, headers[name] ?? '']));
  const isObject = request.endpoint === 'list' && status === 200 && request.method === 'GET';
  const text = side === 'facade' && isObject ? withHubVersions(body) : body;
  return {
    status,
    headers: { ...compared, 'retry-after': headers['retry-after'] === undefined ? '' : 'present' },
    body: isObject ? objectLines(request, headers['content-type'] ?? '', text) : normalizeText(body),
  };
}

/** Removes the digits of permissions that the façade appends to versions of the hub. */
function withHubVersions(body: string): string {
  return body.replace(/(?<="?resourceVersion"?: ?"\d+)\d{8}(?=")/g, '');
}

/** Replaces tokens, times and versions of a Status or a TokenRequest. */
export function normalizeText(body: string): string {
  return (
    unfold(body)
      .replace(/eyJ[\w-]{20,}\.[\w-]+\.[\w-]+/g, '<token>')
      .replace(/202[67]-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
      // The messages of YAML libraries differ; the tests of Purser's YAML parser compare the common ones.
      .replace(
        /(?<=\(must be of type TokenRequest\): )(?:yaml: |unsupported map key).*?(?= \((?:[0-9a-f]{60} |[0-9a-f]+\)|\{))/s,
        '[problem of YAML]',
      )
      // The name of the scheme depends on the build.
      .replace(/(?<=in scheme\s+\\?")[\w./:]+/g, '<scheme>')
      .replace(/(?<=too old resource version: )\d+ \(\d+\)/g, '<version>')
      .replace(/(?<=Too large resource version: )\d+, current: \d+/g, '<version>')
      .replace(/(?<="continue": ?")[\w-]+/g, startOf)
  );
}

/** Returns a Status about a problem of YAML as JSON, because YAML folds the lines after the problem at other places. */
function unfold(body: string): string {
  if (!body.startsWith('apiVersion: v1\n') || !/type TokenRequest\):\s+(yaml|unsupported)/.test(body)) return body;
  return JSON.stringify(parseYaml(body));
}

/** Returns the start key of a continue token, which is the same for both servers. */
function startOf(token: string): string {
  try {
    return `after ${(JSON.parse(Buffer.from(token, 'base64url').toString()) as { start: string }).start.replace(/^\/|\0/g, '')}`;
  } catch {
    return token;
  }
}

interface Fields {
  [name: string]: unknown;
}

/** Returns the objects of a response, one per line, after the format of the body. */
function objectLines(request: FuzzRequest, contentType: string, body: string): string {
  if (isWatch(request)) return watchLines(body);
  const isYaml = contentType.startsWith('application/yaml');
  try {
    const object = (isYaml ? parseYaml(body) : JSON.parse(body)) as Fields;
    const format = isYaml ? 'yaml' : body.trimEnd().includes('\n') ? 'pretty' : 'compact';
    const { items, rows, ...rest } = object;
    const objects = [rest, ...((items ?? rows ?? []) as Fields[])];
    return [format, ...objects.map((each, index) => JSON.stringify(normalizeObject(each, index === 0)))].join('\n');
  } catch {
    return body;
  }
}

/** Returns the events of a watch. Bookmarks depend on time, except the one after the initial events. */
function watchLines(body: string): string {
  const lines = body.split('\n').filter((line) => line !== '' && !(line.includes('"BOOKMARK"') && !line.includes('initial-events-end')));
  return lines.map((line) => normalizeEvent(line)).join('\n');
}

function normalizeEvent(line: string): string {
  try {
    const { type, object } = JSON.parse(line) as { type: string; object: Fields };
    if (type === 'ERROR') return normalizeText(line);
    const text = JSON.stringify({ type, object: normalizeObject(object, true) });
    // The version after the initial events is the latest of the server.
    return type === 'BOOKMARK' ? text.replaceAll(/(?<="resourceVersion":")\d+/g, '<version>') : text;
  } catch {
    return normalizeText(line);
  }
}

/** Replaces versions, ages and continue tokens of an object, a list or a table row. */
function normalizeObject(object: Fields, isTop: boolean): Fields {
  const metadata = object['metadata'] as Fields | undefined;
  const isList = isTop && metadata !== undefined && metadata['name'] === undefined;
  return {
    ...object,
    ...(metadata !== undefined && { metadata: isList ? normalizeListMetadata(metadata) : metadata }),
    ...(Array.isArray(object['cells']) && { cells: object['cells'].map((cell: unknown) => (isAge(cell) ? '<age>' : cell)) }),
    ...(Array.isArray(object['rows']) && { rows: (object['rows'] as Fields[]).map((row) => normalizeObject(row, false)) }),
  };
}

function normalizeListMetadata(metadata: Fields): Fields {
  const token = metadata['continue'];
  return {
    ...metadata,
    ...('resourceVersion' in metadata && { resourceVersion: '<version>' }),
    ...(typeof token === 'string' && token !== '' && { continue: startOf(token) }),
  };
}

function isAge(cell: unknown): boolean {
  return typeof cell === 'string' && /^(\d+[smhdy])+$/.test(cell);
}
