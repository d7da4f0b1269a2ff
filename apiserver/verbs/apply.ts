// Server-side apply: merges the fields of the caller into an object, or creates the object.

import { isFields, type KubeObject, type Value } from '../../src/kubernetes/object.ts';
import { badRequest, conflict, notFound } from '../../src/kubernetes/status.ts';
import { toValue } from '../../src/kubernetes/wire/json-node.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { parseYaml, type YamlDocument } from '../../src/kubernetes/wire/yaml/parse.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { applyPatch } from '../fields/apply.ts';
import { jsonTypeOf } from '../fields/go-print.ts';
import { type Api, openStore, type RequestTarget, toResourceName, type Writer } from './api.ts';
import { storeNew, withNamespace, withoutVersion } from './create.ts';
import { decodeApplied } from './decode-patched.ts';
import { toTyping } from './field-tracking.ts';
import { checkName, replaceObject } from './update.ts';

export interface ApplyRequest {
  readonly body: Buffer;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

export interface ApplyResult {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** Applies a body to an existing or new object. */
export function applyObject(api: Api, target: RequestTarget, { body, fieldValidation, force }: ApplyRequest, writer: Writer): ApplyResult {
  const { kind, namespace, name, subresource } = target;
  const live = openStore(api, kind).get(namespace, name);
  if (live === undefined && subresource !== '') throw notFound(toResourceName(kind), name);
  const { applied, checkDuplicates } = parseApplied(body);
  const object = applyPatch({
    ...toTyping(target),
    live,
    applied,
    manager: writer.manager,
    force,
    kind: kind.kind,
    now: formatTimestamp(api.now()),
    subresource,
    applyDefaults: (merged) => kind.rules.applyDefaults(decodeApplied(merged, kind)),
  });
  checkDuplicates(fieldValidation, writer.warn);
  const next = withNamespace(checkName(object, name), kind, namespace);
  if (live !== undefined) return { object: replaceObject(api, target, { live, next }, writer), created: false };
  writer.authorizeCreate();
  checkNew(target, applied);
  return { object: storeNew(api, kind, withoutVersion(next), writer), created: true };
}

/** Throws 409 if a new object has a uid, which can only be the uid of an existing object. */
function checkNew({ kind, name }: RequestTarget, { metadata }: KubeObject): void {
  if (metadata?.uid === undefined) return;
  throw conflict(
    toResourceName(kind),
    name,
    `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
  );
}

const DUPLICATES_PREFIX = 'yaml: unmarshal errors:';

interface AppliedBody {
  readonly applied: KubeObject;
  /** Rejects repeated keys (400), warns about them or ignores them. Must be called after the merge, as in kube-apiserver. */
  readonly checkDuplicates: (validation: FieldValidation, warn: (text: string) => void) => void;
}

/** Parses the body. Throws 400 unless it is a YAML document with an object or null. */
function parseApplied(body: Buffer): AppliedBody {
  const { node, duplicates } = parse(body);
  return {
    applied: toObject(toValue(node)),
    checkDuplicates: (validation, warn) => {
      if (duplicates === undefined || validation === 'Ignore') return;
      if (validation === 'Strict') throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${duplicates}`);
      const lines = duplicates.slice(DUPLICATES_PREFIX.length).trim().split('\n');
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

function toObject(value: Value): KubeObject {
  if (isFields(value) || value === null) return Object.assign({ apiVersion: '', kind: '', metadata: {} }, value);
  const detail = `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${detail}`);
}
