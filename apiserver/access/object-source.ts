// What access control reads of the stored objects.

import type { KubeObject } from '../../src/kubernetes/object.ts';

/** Stored objects as they are now; namespaces are '' for cluster-scoped kinds. */
export interface ObjectSource {
  get(group: string, plural: string, namespace: string, name: string): KubeObject | undefined;
  /** The objects of one namespace, or of all without one. Unchanged objects keep their identity. */
  list(group: string, plural: string, namespace?: string): readonly KubeObject[];
}
