// CustomResourceDefinitions: how they come, are accepted and established, change and go.

import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { DEFAULT_TABLE } from '../../../src/kubernetes/table.ts';
import { sameValue } from '../../same-value.ts';
import { builtInKind, type Strategy } from '../built-in-kind.ts';
import type { Kind } from '../kind.ts';
import { acceptNames } from './accepted-names.ts';
import { canonicalSchema } from './canonical-schema.ts';
import { DEFINITION_SCHEMA } from './schema.ts';
import {
  asDefinition,
  type CustomResourceDefinition,
  type DefinitionCondition,
  type DefinitionSpec,
  type DefinitionVersion,
  type DraftDefinition,
} from './types.ts';
import { validateDefinition, validateDefinitionStatus, validateDefinitionUpdate } from './validation.ts';
import { formatWarnings } from './validity.ts';

const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

/** What an established definition looks like; the same object if there is nothing to change. */
export function established(
  definition: CustomResourceDefinition,
  all: readonly CustomResourceDefinition[],
  now: string,
): CustomResourceDefinition {
  const others = all.filter(({ metadata }) => metadata.name !== definition.metadata.name);
  const { names, condition } = acceptNames(definition, others);
  const accepted = withCondition(definition.status?.conditions ?? [], condition, now);
  const conditions = withCondition(accepted, establishment(accepted), now);
  const status = { ...definition.status, conditions, acceptedNames: names };
  return sameValue(status, definition.status) ? definition : { ...definition, status };
}

type Judgement = Omit<DefinitionCondition, 'lastTransitionTime'>;

function establishment(conditions: readonly DefinitionCondition[]): Judgement {
  const isTrue = (type: string) => conditions.some((condition) => condition.type === type && condition.status === 'True');
  return isTrue('NamesAccepted') || isTrue('Established')
    ? { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

/** The conditions with one of them set; its time moves only with its status. */
function withCondition(conditions: readonly DefinitionCondition[], next: Judgement, now: string): readonly DefinitionCondition[] {
  const index = conditions.findIndex(({ type }) => type === next.type);
  const old = conditions[index];
  const { type, status, ...why } = next;
  const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
  const condition = { type, status, lastTransitionTime, ...why };
  return old === undefined ? [...conditions, condition] : conditions.with(index, condition);
}

const strategy: Strategy = {
  unconditionalUpdate: false,
  hasGeneration: true,
  defaulted: (draft: DraftDefinition) => defaulted(asDefinition(draft)),
  prepareForCreate: (draft: DraftDefinition) => {
    const definition = asDefinition(draft);
    return {
      ...definition,
      metadata: { ...definition.metadata, generation: 1 },
      status: { storedVersions: storageVersions(definition.spec) },
    };
  },
  prepareForUpdate: (next: DraftDefinition, old: DraftDefinition) => changed(asDefinition(next), asDefinition(old)),
  prepareForStatusUpdate: (next, old: DraftDefinition) => ({ ...next, spec: asDefinition(old).spec }),
  validate: (draft: DraftDefinition) => validateDefinition(asDefinition(draft)),
  validateUpdate: (next: DraftDefinition, old: DraftDefinition) => validateDefinitionUpdate(asDefinition(next), asDefinition(old)),
  validateStatusUpdate: (next: DraftDefinition, old: DraftDefinition) => validateDefinitionStatus(asDefinition(next), asDefinition(old)),
  warnings: (next: DraftDefinition, old?: DraftDefinition) => formatWarnings(asDefinition(next), old && asDefinition(old)),
};

function defaulted(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec, status } = definition;
  const { kind, singular = '', listKind = '' } = spec.names;
  const stored = status?.storedVersions ?? [];
  return {
    ...definition,
    spec: {
      ...spec,
      names: {
        ...spec.names,
        ...(singular === '' && kind !== '' && { singular: kind.toLowerCase() }),
        ...(listKind === '' && kind !== '' && { listKind: `${kind}List` }),
      },
      versions: spec.versions.map(withCanonicalSchema),
      conversion: spec.conversion ?? { strategy: 'None' },
    },
    status: { ...status, storedVersions: stored.length > 0 ? stored : storageVersions(spec) },
  };
}

function withCanonicalSchema(version: DefinitionVersion): DefinitionVersion {
  const declared = version.schema?.openAPIV3Schema;
  return declared === undefined ? version : { ...version, schema: { openAPIV3Schema: canonicalSchema(declared) } };
}

function storageVersions({ versions }: DefinitionSpec): readonly string[] {
  return versions
    .filter(({ storage }) => storage)
    .slice(0, 1)
    .map(({ name }) => name);
}

function changed(next: CustomResourceDefinition, old: CustomResourceDefinition): CustomResourceDefinition {
  const stored = old.status?.storedVersions ?? [];
  const added = storageVersions(next.spec).filter((name) => !stored.includes(name));
  const { generation = 0 } = old.metadata;
  return {
    ...next,
    metadata: { ...next.metadata, generation: sameValue(next.spec, old.spec) ? generation : generation + 1 },
    status: { ...old.status, storedVersions: added.length === 0 ? stored : [...stored, ...added] },
  };
}

/** The first step of a deletion: the objects of the definition have to go before it. */
function terminating(draft: DraftDefinition, deletedAt: string): KubeObject {
  const { finalizers = [] } = draft.metadata;
  const condition: Judgement = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      deletionTimestamp: deletedAt,
      finalizers: finalizers.includes(CLEANUP) ? finalizers : [...finalizers, CLEANUP],
    },
    status: { ...draft.status, conditions: withCondition(draft.status?.conditions ?? [], condition, deletedAt) },
  };
}

const self = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' };

const declared = builtInKind({
  ...self,
  namespaced: false,
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  schema: DEFINITION_SCHEMA,
  subresources: [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'] }],
  table: DEFAULT_TABLE,
  strategy,
});

/** Definitions are still stored as they were first published. */
export const customResourceDefinitionKind: Kind = { ...declared, storageVersion: 'v1beta1', rules: { ...declared.rules, terminating } };
