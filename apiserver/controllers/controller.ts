// Controllers of the embedded server: they react to durable changes, through the verbs that requests use.
// Later writes may have followed a change, so controllers read the stored state, not the change.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, Target, Writer } from '../verbs/api.ts';

/** Starts a controller. A stored object that breaks current rules must not keep the server from starting. */
export type Upkeep = (api: Api) => Stop;
export type Stop = () => void;

/** Returns the writer for the server's own changes; `manager` is the name of the Kubernetes component that makes them. */
export function systemWriter(manager: string): Writer {
  return {
    manager,
    dryRun: false,
    warn: () => {},
    authorizeCreate: () => {},
  };
}

/** Returns the target of an object or of its subresource. */
export function targetOf(kind: Kind, { metadata: { namespace = '', name = '' } }: KubeObject, subresource = ''): Target {
  return { kind, namespace, name, subresource };
}

/** Returns the kind of a stored resource; undefined if it is not served. */
export function kindOfResource({ registry }: Api, resource: string): Kind | undefined {
  const slash = resource.lastIndexOf('/');
  return registry.resource(resource.slice(0, Math.max(slash, 0)), resource.slice(slash + 1));
}
