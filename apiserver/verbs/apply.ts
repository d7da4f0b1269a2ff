// Server-side apply: creates or changes an object so that the caller's fields are as it wants them.

import { isFields, type KubeObject, type Value } from '../../src/kubernetes/object.ts';
import { badRequest, conflict, notFound } from '../../src/kubernetes/status.ts';
import { toValue } from '../../src/kubernetes/wire/json-node.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { parseYaml, type YamlDocument } from '../../src/kubernetes/wire/yaml/parse.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { applyPatch } from '../fields/apply.ts';
import { type Api, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { inNamespace, storeNew, withoutVersion } from './create.ts';
import { decodeApplied } from './decode-patched.ts';
import { typingOf } from './field-tracking.ts';
import { checkName, replaceObject } from './update.ts';

export interface Application {
  readonly body: Buffer;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

export interface Applied {
  readonly object: KubeObject;
  readonly created: boolean;
}

export function applyObject(api: Api, target: Target, { body, fieldValidation, force }: Application, writer: Writer): Applied {
  const { kind, namespace, name, subresource } = target;
  const live = storeOf(api, kind).get(namespace, name);
  if (live === undefined && subresource !== '') throw notFound(resourceName(kind), name);
  const { applied, checkRepeated } = readApplied(body);
  const object = applyPatch({
    ...typingOf(target),
    live,
    applied,
    manager: writer.manager,
    force,
    kind: kind.kind,
    now: formatTimestamp(api.now()),
    subresource,
    applyDefaults: (merged) => kind.rules.applyDefaults(decodeApplied(merged, kind)),
  });
  checkRepeated(fieldValidation, writer.warn);
  const next = inNamespace(checkName(object, name), kind, namespace);
  if (live !== undefined) return { object: replaceObject(api, target, { live, next }, writer), created: false };
  writer.checkMayCreate();
  checkNew(target, applied);
  return { object: storeNew(api, kind, withoutVersion(next), writer), created: true };
}

/** Throws 409 for an object with a uid: its writer means an existing object. */
function checkNew({ kind, name }: Target, { metadata }: KubeObject): void {
  if (metadata?.uid === undefined) return;
  throw conflict(
    resourceName(kind),
    name,
    `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
  );
}

const REPEATED = 'yaml: unmarshal errors:';

export interface AppliedBody {
  readonly applied: KubeObject;
  /** Rejects, reports or ignores repeated keys, after the apply itself has succeeded. Throws 400. */
  readonly checkRepeated: (validation: FieldValidation, warn: (text: string) => void) => void;
}

/** Reads the body. Throws 400. */
function readApplied(body: Buffer): AppliedBody {
  const { node, duplicates } = parse(body);
  return {
    applied: asObject(toValue(node)),
    checkRepeated: (validation, warn) => {
      if (duplicates === undefined || validation === 'Ignore') return;
      if (validation === 'Strict') throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${duplicates}`);
      const lines = duplicates.slice(REPEATED.length).trim().split('\n');
      for (const line of lines) warn(line.trim());
    },
  };
}

function parse(body: Buffer): YamlDocument {
  try {
    return parseYaml(body);
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${(error as Error).message}`);
  }
}

function asObject(value: Value): KubeObject {
  if (isFields(value) || value === null) return Object.assign({ apiVersion: '', kind: '', metadata: {} }, value);
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'number';
  const why = `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}
