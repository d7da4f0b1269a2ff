// Server-side apply: creates or changes an object so that the caller's fields are as it wants them.

import { badRequest, conflict, notFound } from '../../api/status.ts';
import { rfc3339 } from '../../std/timestamp.ts';
import { applyPatch } from '../fields/apply.ts';
import type { KubeObject } from '../object.ts';
import type { FieldValidation } from '../wire/options.ts';
import { type Api, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { readApplied } from './apply-body.ts';
import { inNamespace, storeNew } from './create.ts';
import { decodeDocument } from './patched-object.ts';
import { typingOf } from './tracked.ts';
import { checkUid, replaceObject, type Written } from './update.ts';

export interface Application {
  readonly body: Buffer;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

export function applyObject(api: Api, target: Target, { body, fieldValidation, force }: Application, writer: Writer): Written {
  const { kind, namespace, name, subresource } = target;
  const live = storeOf(api, kind).get(namespace, name);
  if (live === undefined && subresource !== '') throw notFound(resourceName(kind), name);
  const { applied, checkRepeated } = readApplied(body);
  const { object } = applyPatch({
    ...typingOf(api, target),
    live,
    applied,
    manager: writer.manager,
    force,
    kind: kind.kind,
    now: rfc3339(api.now()),
    subresource,
    defaulted: (merged) => kind.rules.defaulted(decodeDocument(merged, kind).object),
  });
  checkRepeated(fieldValidation, writer.warn);
  const next = inNamespace(named(object, name), kind, namespace);
  if (live !== undefined) {
    checkUid(target, next, live);
    return { object: replaceObject(api, target, { live, next }, writer), created: false };
  }
  writer.checkMayCreate();
  checkNew(target, applied);
  return { object: storeNew(api, kind, next, writer), created: true };
}

/** An applied object may leave out its name, but not contradict the URL. */
function named(object: KubeObject, name: string): KubeObject {
  const own = object.metadata.name ?? '';
  if (own === '') return { ...object, metadata: { ...object.metadata, name } };
  if (own !== name) throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
  return object;
}

/** Who names a uid means an object that exists. */
function checkNew({ kind, name }: Target, { metadata }: KubeObject): void {
  if (metadata?.uid === undefined) return;
  throw conflict(
    resourceName(kind),
    name,
    `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
  );
}
