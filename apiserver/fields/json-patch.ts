// JSON patches (RFC 6902) and JSON merge patches (RFC 7386), with the deviations of kube-apiserver:
// `replace` adds a missing member, negative indexes are relative to the end of a list, and errors quote members in a fixed order.

import { isFields } from '../../src/kubernetes/object.ts';
import { badRequest, statusError } from '../../src/kubernetes/status.ts';
import { fieldOf, type JsonObject, sameValue } from '../same-value.ts';
import { notSupported } from '../unsupported.ts';
import { jsonTypeName } from './go-print.ts';

/** Applies a JSON patch. Throws a StatusError for a patch that is malformed or does not apply. */
export function jsonPatch(document: unknown, patch: unknown): unknown {
  return parseOperations(structuredClone(patch)).reduce<unknown>(applyOperation, structuredClone(document));
}

function parseOperations(patch: unknown): readonly JsonObject[] {
  const wrongType = (value: unknown, goType: string): Error =>
    badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(value)} into Go ${goType}`);
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw wrongType(patch, 'value of type []handlers.jsonPatchOp');
  return patch.map((operation: unknown) => {
    if (operation === null) return {};
    if (!isFields(operation)) throw wrongType(operation, 'value of type handlers.jsonPatchOp');
    const wrong = ['op', 'path'].find((name) => typeof (operation[name] ?? '') !== 'string');
    if (wrong !== undefined) throw wrongType(operation[wrong], `struct field jsonPatchOp.${wrong} of type string`);
    return operation;
  });
}

/** Changes a document in place. Returns it, or the value that replaces all of it. */
function applyOperation(document: unknown, { op, path, value = null }: JsonObject): unknown {
  if (op === 'copy' || op === 'move') throw badRequest(notSupported(`the JSON patch operation ${op}`));
  if (path === '') return op === 'replace' && isContainer(value) ? value : reject();
  const change = CHANGES.get(op) ?? reject();
  const steps = parsePointer(path);
  const container = valueAt(document, steps.slice(0, -1));
  change(isContainer(container) ? container : reject(), steps.at(-1) ?? '', value);
  return document;
}

/** Throws the error for operations that do not apply; kube-apiserver states no reason. */
function reject(): never {
  throw statusError('Invalid', 'the server rejected our request due to an error in our request', {});
}

/** Parses a JSON pointer; ignores text before its first slash. */
function parsePointer(path: unknown): readonly string[] {
  const [, ...steps] = typeof path === 'string' ? path.split('/') : [];
  if (steps.length === 0) reject();
  return steps.map((step) => step.replaceAll(/~[01]/g, (escaped) => (escaped === '~1' ? '/' : '~')));
}

type Container = Record<string, unknown> | unknown[];

/** Changes or tests a member of a container in place. */
type Change = (container: Container, step: string, value: unknown) => void;

function valueAt(document: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((container, step) => {
    if (!isContainer(container)) reject();
    return member(container, step);
  }, document);
}

function member(container: Container, step: string): unknown {
  if (!Array.isArray(container)) return Object.hasOwn(container, step) ? container[step] : undefined;
  return container[parseIndex(step, container.length, container.length - 1)];
}

const add: Change = (container, step, value) => {
  if (!Array.isArray(container)) return setMember(container, step, value);
  const index = step === '-' ? container.length : parseIndex(step, container.length + 1, container.length);
  container.splice(index, 0, value);
};

const remove: Change = (container, step) => {
  if (Array.isArray(container)) {
    container.splice(parseIndex(step, container.length, container.length - 1), 1);
  } else if (!Object.hasOwn(container, step) || !Reflect.deleteProperty(container, step)) {
    reject();
  }
};

const replace: Change = (container, step, value) => {
  if (!Array.isArray(container)) return setMember(container, step, value);
  container[parseIndex(step, container.length, container.length - 1)] = value;
};

const test: Change = (container, step, value) => {
  if (!sameValue(member(container, step) ?? null, value)) reject();
};

const CHANGES: ReadonlyMap<unknown, Change> = new Map([
  ['add', add],
  ['remove', remove],
  ['replace', replace],
  ['test', test],
]);

/** Sets a member, even if its name is `__proto__`. */
function setMember(container: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Parses an index of at most `last`; a negative index is relative to `end`. */
function parseIndex(step: string, end: number, last: number): number {
  if (!/^[+-]?\d+$/.test(step)) reject();
  const index = Number(step) < 0 ? Number(step) + end : Number(step);
  if (index < 0 || index > last) reject();
  return index;
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isFields(value);
}

/** Applies a merge patch. Throws 400 for a patch that is not an object. */
export function mergePatch(document: JsonObject, patch: unknown): unknown {
  if (isFields(patch)) return mergeValue(document, patch);
  if (patch !== null) {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  }
  throw badRequest('Invalid JSON Patch');
}

function mergeValue(target: unknown, patch: unknown): unknown {
  if (!isFields(target)) return withoutNulls(patch);
  if (!isFields(patch)) return patch;
  const unchanged = Object.entries(target).filter(([name]) => fieldOf(patch, name) === undefined);
  const changed = Object.entries(patch).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries([...unchanged, ...changed.map(([name, value]) => [name, mergeValue(fieldOf(target, name), value)] as const)]);
}

/** Returns a value without null fields, including those of objects in lists. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}
