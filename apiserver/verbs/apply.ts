// Server-side apply: creates or changes an object so that the caller's fields are as it wants them.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { conflict, notFound } from '../../src/kubernetes/status.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { applyPatch } from '../fields/apply.ts';
import { type Api, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { readApplied } from './apply-body.ts';
import { inNamespace, storeNew, withoutVersion } from './create.ts';
import { decodeApplied } from './patched-object.ts';
import { typingOf } from './tracked.ts';
import { checkName, replaceObject, type Written } from './update.ts';

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
    now: formatTimestamp(api.now()),
    subresource,
    defaulted: (merged) => kind.rules.defaulted(decodeApplied(merged, kind)),
  });
  checkRepeated(fieldValidation, writer.warn);
  const next = inNamespace(checkName(object, name), kind, namespace);
  if (live !== undefined) return { object: replaceObject(api, target, { live, next }, writer), created: false };
  writer.checkMayCreate();
  checkNew(target, applied);
  return { object: storeNew(api, kind, withoutVersion(next), writer), created: true };
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
