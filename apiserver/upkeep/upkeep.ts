// Controllers of the embedded server: they react to durable changes, through the verbs that requests use.
// Later writes may have followed a change, so controllers read the stored state, not the change.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, Target, Writer } from '../verbs/api.ts';

/** Runs until it is stopped. What is stored may not please the rules of today: one such object must not keep the server from starting. */
export type Upkeep = (api: Api) => Stop;
export type Stop = () => void;

/** Returns the server's own writes, under the name that Kubernetes' component would use. */
export function systemWriter(manager: string): Writer {
  return {
    manager,
    dryRun: false,
    warn: () => {},
    checkMayCreate: () => {},
  };
}

/** Returns the target of an object in hand. */
export function targetOf(kind: Kind, { metadata: { namespace = '', name = '' } }: KubeObject, subresource = ''): Target {
  return { kind, namespace, name, subresource };
}

/** Returns the kind that a stored resource is served as, in any of its versions. */
export function kindOfResource({ registry }: Api, resource: string): Kind | undefined {
  const slash = resource.lastIndexOf('/');
  return registry.versionsOf(resource.slice(0, Math.max(slash, 0)), resource.slice(slash + 1))[0];
}
