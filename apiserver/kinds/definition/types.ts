// The shape of a CustomResourceDefinition, as far as the server reads it.

import type { PrinterColumn } from '../../../src/kubernetes/custom-table.ts';
import type { KubeObject, Value } from '../../../src/kubernetes/object.ts';
import type { DeclaredSchema } from '../../schema/declared/declared.ts';

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: DefinitionSpec;
  readonly status?: DefinitionStatus;
}

export interface DefinitionSpec {
  readonly group: string;
  readonly names: DefinitionNames;
  readonly scope: string;
  readonly versions: readonly DefinitionVersion[];
  readonly conversion?: Conversion;
  readonly preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: DeclaredSchema };
  readonly subresources?: Subresources;
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly SelectableField[];
}

export interface Subresources {
  readonly status?: object;
  readonly scale?: { readonly specReplicasPath?: string; readonly statusReplicasPath?: string; readonly labelSelectorPath?: string };
}

export interface SelectableField {
  readonly jsonPath: string;
}

export interface Conversion {
  readonly strategy?: string;
  readonly webhook?: Readonly<Record<string, Value>>;
}

export interface DefinitionStatus {
  readonly conditions?: readonly DefinitionCondition[] | null;
  readonly acceptedNames?: DefinitionNames;
  readonly storedVersions?: readonly string[] | null;
}

export interface DefinitionCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A definition as it comes: empty fields are missing. */
export interface DraftDefinition extends KubeObject {
  readonly spec?: Partial<DefinitionSpec>;
  readonly status?: DefinitionStatus;
}

/** The definition with its empty fields in place. */
export function asDefinition(draft: DraftDefinition): CustomResourceDefinition {
  const { group = '', scope = '', names, versions, ...rest } = draft.spec ?? {};
  return {
    ...draft,
    spec: {
      group,
      names: { ...names, plural: names?.plural ?? '', kind: names?.kind ?? '' },
      scope,
      versions: (versions ?? []).map((version) => ({ ...version, name: version.name ?? '' })),
      ...rest,
    },
  };
}

/** Whether a condition of the definition is True. */
export function hasCondition({ status }: CustomResourceDefinition, type: string): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}
