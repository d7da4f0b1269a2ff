// Common parts of the controllers, which react to committed changes.
// A controller reads the stored state, because later writes may have followed the change that it receives.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, RequestTarget, Writer } from '../verbs/api.ts';

/** Starts a controller. Must not throw for a stored object that violates current rules. */
export type StartController = (api: Api) => Stop;
export type Stop = () => void;

/** Returns the writer of a controller; `manager` names the Kubernetes component that makes these writes on a real cluster. */
export function createSystemWriter(manager: string): Writer {
  return { manager, dryRun: false, warn: () => {}, authorizeCreate: () => {} };
}

/** Returns the target of a request for an object or one of its subresources. */
export function toTarget(kind: Kind, { metadata: { namespace = '', name = '' } }: KubeObject, subresource = ''): RequestTarget {
  return { kind, namespace, name, subresource };
}
