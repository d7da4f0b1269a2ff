// A CustomResourceDefinition for tests.

import type { CustomResourceDefinition, DefinitionVersion } from '../kinds/definition.ts';

/** Returns a definition in the group `example.dev` with the version `v1`, changed by `version`. */
export function sampleDefinition(
  { plural, kind, scope = 'Namespaced' }: { readonly plural: string; readonly kind: string; readonly scope?: string },
  version: Partial<DefinitionVersion> = {},
): CustomResourceDefinition {
  const v1 = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } }, ...version } as const;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.dev` },
    spec: { group: 'example.dev', scope, names: { plural, kind }, versions: [v1] },
  };
}
