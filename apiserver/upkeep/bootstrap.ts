// What every control plane holds from its first moment: the system namespaces and the default roles.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import type { Api } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { systemWriter } from './upkeep.ts';

/** Creates what is missing; what people have changed since stays as they left it. */
export function bootstrap(api: Api, objects: readonly KubeObject[]): void {
  for (const object of objects) {
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
    const kind = api.registry.findKind(group as string, version as string, object.kind);
    if (kind === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served here`);
    const { namespace = '', name = '' } = object.metadata;
    try {
      createObject(api, { kind, namespace, name, subresource: '' }, kind.rules.defaulted(object), systemWriter('kube-apiserver'));
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }
}
