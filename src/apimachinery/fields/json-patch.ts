// JSON patches (RFC 6902) as Kubernetes applies them: replacing a missing member adds it, indexes may count from the end.

import { badRequest, statusError } from '../../api/status.ts';
import { goQuote } from '../../std/go-text.ts';
import { type Fields, isFields } from '../object.ts';
import { type JsonObject, sameValue } from '../same-value.ts';
import { duplicateFields, type JsonEntry, type JsonNode } from '../wire/json-node.ts';
import { jsonTypeName } from './json-type.ts';

const MAX_OPERATIONS = 10_000;

/** What the server says of unknown fields: nothing, or it reads the patch strictly and reports them. */
export type PatchReading = 'lax' | 'strict';

/** The document after the patch. Throws the API error of a patch that is malformed or does not apply. */
export function jsonPatch(document: unknown, patch: unknown, reading: PatchReading = 'strict'): unknown {
  const operations = parseOperations(patch, reading);
  if (operations.length > MAX_OPERATIONS) {
    const message = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`;
    throw statusError('RequestEntityTooLarge', `Request entity too large: ${message}`);
  }
  return operations.reduce<unknown>((patched, operation) => applied(patched, operation), document);
}

/** What a strict reading objects to, in the order of the patch: `json patch unknown field "[0].extra"`. */
export function jsonPatchProblems(patch: JsonNode): readonly string[] {
  if (patch.type !== 'array') return [];
  return patch.items.flatMap((operation, index) => {
    if (operation.type !== 'object') return [];
    return operationProblems(operation.entries).map(({ problem, path }) => `json patch ${problem} field ${goQuote(`[${index}].${path}`)}`);
  });
}

const OPERATION_FIELDS = new Set(['op', 'path', 'from', 'value']);

function operationProblems(entries: readonly JsonEntry[]): readonly { problem: string; path: string }[] {
  return entries.flatMap(({ key, value }, index) => {
    const isRepeated = entries.slice(0, index).some((earlier) => earlier.key === key);
    if (!OPERATION_FIELDS.has(key)) return isRepeated ? [] : [{ problem: 'unknown', path: key }];
    const within = key === 'value' ? duplicateFields(value).map((path) => `${key}${path.startsWith('[') ? '' : '.'}${path}`) : [];
    return [...(isRepeated ? [key] : []), ...within].map((path) => ({ problem: 'duplicate', path }));
  });
}

function parseOperations(patch: unknown, reading: PatchReading): readonly JsonObject[] {
  const strict = reading === 'strict';
  const wrongType = (value: unknown, goType: string): Error =>
    badRequest(`${strict ? 'error decoding patch: ' : ''}json: cannot unmarshal ${jsonTypeName(value)} into Go ${goType}`);
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw wrongType(patch, `value of type ${strict ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch'}`);
  return patch.map((operation: unknown) => {
    if (operation === null) return {};
    if (!isFields(operation)) throw wrongType(operation, `value of type ${strict ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation'}`);
    const wrong = ['op', 'path', 'from'].find((name) => strict && typeof (operation[name] ?? '') !== 'string');
    if (wrong !== undefined) throw wrongType(operation[wrong], `struct field jsonPatchOp.${wrong} of type string`);
    return operation;
  });
}

function applied(document: unknown, operation: JsonObject): unknown {
  const { value = null } = operation;
  switch (operation['op']) {
    case 'add':
      return edit(document, pointer(operation['path']), added(value));
    case 'remove':
      return edit(document, pointer(operation['path']), removed);
    case 'replace':
      return operation['path'] === '' ? wholeDocument(value) : edit(document, pointer(operation['path']), replaced(value));
    case 'move': {
      const from = pointer(operation['from']);
      return edit(edit(document, from, removed), pointer(operation['path']), added(valueAt(document, from)));
    }
    case 'copy':
      return edit(document, pointer(operation['path']), added(valueAt(document, pointer(operation['from'])) ?? null));
    case 'test':
      return tested(document, operation['path'], value);
    default:
      throw rejected();
  }
}

function tested(document: unknown, path: unknown, value: unknown): unknown {
  const found = path === '' ? document : valueAt(document, pointer(path));
  if (!sameValue(found ?? null, value)) throw rejected();
  return document;
}

/** One failure for everything that does not apply; Kubernetes does not say which. */
function rejected(): Error {
  return statusError('Invalid', 'the server rejected our request due to an error in our request', {});
}

/** The steps of a JSON pointer. What stands before its first slash is not looked at. */
function pointer(path: unknown): readonly string[] {
  const [, ...steps] = typeof path === 'string' ? path.split('/') : [];
  if (steps.length === 0) throw rejected();
  return steps.map((step) => step.replaceAll(/~[01]/g, (escaped) => (escaped === '~1' ? '/' : '~')));
}

type Change = (container: Fields | readonly unknown[], step: string) => unknown;

function edit(container: unknown, [step = '', ...rest]: readonly string[], change: Change): unknown {
  if (!isContainer(container)) throw rejected();
  if (rest.length === 0) return change(container, step);
  return replaced(edit(member(container, step), rest, change))(container, step);
}

function valueAt(document: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((container, step) => {
    if (!isContainer(container)) throw rejected();
    return member(container, step);
  }, document);
}

function member(container: Fields | readonly unknown[], step: string): unknown {
  if (isFields(container)) return Object.hasOwn(container, step) ? container[step] : undefined;
  return container[position(step, container.length, container.length - 1)];
}

function added(value: unknown): Change {
  return (container, step) => {
    if (isFields(container)) return { ...container, [step]: value };
    const index = step === '-' ? container.length : position(step, container.length + 1, container.length);
    return container.toSpliced(index, 0, value);
  };
}

const removed: Change = (container, step) => {
  if (!isFields(container)) return container.toSpliced(position(step, container.length, container.length - 1), 1);
  if (!Object.hasOwn(container, step)) throw rejected();
  return Object.fromEntries(Object.entries(container).filter(([name]) => name !== step));
};

function replaced(value: unknown): Change {
  return (container, step) => {
    if (isFields(container)) return { ...container, [step]: value };
    return container.with(position(step, container.length, container.length - 1), value);
  };
}

function wholeDocument(value: unknown): unknown {
  if (!isContainer(value)) throw rejected();
  return value;
}

/** An index up to `last`; a negative one counts from `end`. */
function position(step: string, end: number, last: number): number {
  if (!/^[+-]?\d+$/.test(step)) throw rejected();
  const index = Number(step) < 0 ? Number(step) + end : Number(step);
  if (index < 0 || index > last) throw rejected();
  return index;
}

function isContainer(value: unknown): value is Fields | readonly unknown[] {
  return Array.isArray(value) || isFields(value);
}
