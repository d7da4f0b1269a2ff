// JSON patches (RFC 6902) and JSON merge patches (RFC 7386), with the deviations of kube-apiserver:
// `replace` adds a missing member, and negative indexes are relative to the end of a list.

import { isFields } from '../../src/kubernetes/object.ts';
import { badRequest, statusError } from '../../src/kubernetes/status.ts';
import { encodeGoStructJson } from '../../src/std/go-text.ts';
import { fieldOf, isSameValue, type JsonObject } from '../same-value.ts';
import { jsonTypeOf } from './go-print.ts';

const MAX_OPERATIONS = 10_000;
/** Maximum total JSON length of the values that a patch copies, in bytes. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/** Applies a JSON patch. Throws a StatusError for a patch that is malformed or does not apply. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const operations = parseOperations(structuredClone(patch));
  if (operations.length > MAX_OPERATIONS) {
    const message = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`;
    throw statusError('RequestEntityTooLarge', `Request entity too large: ${message}`);
  }
  const draft = new Draft(structuredClone(document));
  operations.forEach((operation) => draft.apply(operation));
  return draft.document;
}

function parseOperations(patch: unknown): readonly JsonObject[] {
  const wrongType = (value: unknown, goType: string): Error =>
    badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeOf(value)} into Go ${goType}`);
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw wrongType(patch, 'value of type []handlers.jsonPatchOp');
  return patch.map((operation: unknown) => {
    if (operation === null) return {};
    if (!isFields(operation)) throw wrongType(operation, 'value of type handlers.jsonPatchOp');
    const wrong = ['op', 'path', 'from'].find((name) => typeof (operation[name] ?? '') !== 'string');
    if (wrong !== undefined) throw wrongType(operation[wrong], `struct field jsonPatchOp.${wrong} of type string`);
    return operation;
  });
}

/** A document that operations change in place. */
class Draft {
  #document: unknown;
  /** Total JSON length of the copied values, in bytes. */
  #copiedBytes = 0;

  constructor(document: unknown) {
    this.#document = document;
  }

  get document(): unknown {
    return this.#document;
  }

  apply(operation: JsonObject): void {
    const { op, path, from, value = null } = operation;
    switch (op) {
      case 'add':
        return this.#edit(parsePointer(path), add(value));
      case 'remove':
        return this.#edit(parsePointer(path), remove);
      case 'replace':
        return path === '' ? this.#replaceAll(value) : this.#edit(parsePointer(path), replace(value));
      case 'move':
        return this.#move(parsePointer(from), path);
      case 'copy':
        return this.#copy(parsePointer(from), parsePointer(path));
      case 'test':
        return this.#test(path, value);
      default:
        throw notApplicable();
    }
  }

  #move(from: readonly string[], path: unknown): void {
    const value = findValue(this.#document, from);
    this.#edit(from, remove);
    this.#edit(parsePointer(path), add(value));
  }

  #copy(from: readonly string[], path: readonly string[]): void {
    const value = findValue(this.#document, from) ?? null;
    this.#copiedBytes += Buffer.byteLength(encodeGoStructJson(value));
    if (this.#copiedBytes > MAX_COPIED_BYTES) throw notApplicable();
    this.#edit(path, add(structuredClone(value)));
  }

  #test(path: unknown, value: unknown): void {
    const found = path === '' ? this.#document : findValue(this.#document, parsePointer(path));
    if (!isSameValue(found ?? null, value)) throw notApplicable();
  }

  #replaceAll(value: unknown): void {
    if (!isContainer(value)) throw notApplicable();
    this.#document = value;
  }

  #edit(steps: readonly string[], change: Change): void {
    const container = findValue(this.#document, steps.slice(0, -1));
    if (!isContainer(container)) throw notApplicable();
    change(container, steps.at(-1) ?? '');
  }
}

/** Returns the error for operations that do not apply; kube-apiserver does not name the cause. */
function notApplicable(): Error {
  return statusError('Invalid', 'the server rejected our request due to an error in our request', {});
}

/** Parses a JSON pointer; ignores text before its first slash. */
function parsePointer(path: unknown): readonly string[] {
  const [, ...steps] = typeof path === 'string' ? path.split('/') : [];
  if (steps.length === 0) throw notApplicable();
  return steps.map((step) => step.replaceAll(/~[01]/g, (escaped) => (escaped === '~1' ? '/' : '~')));
}

type Container = Record<string, unknown> | unknown[];

/** In-place change of the member `step` of a container. */
type Change = (container: Container, step: string) => void;

function findValue(document: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((container, step) => {
    if (!isContainer(container)) throw notApplicable();
    return findMember(container, step);
  }, document);
}

function findMember(container: Container, step: string): unknown {
  if (!Array.isArray(container)) return Object.hasOwn(container, step) ? container[step] : undefined;
  return container[parseIndex(step, container.length, container.length - 1)];
}

function add(value: unknown): Change {
  return (container, step) => {
    if (!Array.isArray(container)) return setMember(container, step, value);
    const index = step === '-' ? container.length : parseIndex(step, container.length + 1, container.length);
    container.splice(index, 0, value);
  };
}

const remove: Change = (container, step) => {
  if (Array.isArray(container)) {
    container.splice(parseIndex(step, container.length, container.length - 1), 1);
  } else if (!Object.hasOwn(container, step) || !Reflect.deleteProperty(container, step)) {
    throw notApplicable();
  }
};

function replace(value: unknown): Change {
  return (container, step) => {
    if (!Array.isArray(container)) return setMember(container, step, value);
    container[parseIndex(step, container.length, container.length - 1)] = value;
  };
}

/** Sets a member, even if its name is `__proto__`. */
function setMember(container: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Parses an index; a negative index is relative to `end`. Throws unless the index is between 0 and `last`. */
function parseIndex(step: string, end: number, last: number): number {
  if (!/^[+-]?\d+$/.test(step)) throw notApplicable();
  const index = Number(step) < 0 ? Number(step) + end : Number(step);
  if (index < 0 || index > last) throw notApplicable();
  return index;
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isFields(value);
}

/** Applies a merge patch. Throws 400 for a patch that is not an object. */
export function applyMergePatch(document: JsonObject, patch: unknown): unknown {
  if (isFields(patch)) return mergeValue(document, patch);
  if (patch !== null) {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeOf(patch)} into Go value of type map[string]interface {}`);
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
