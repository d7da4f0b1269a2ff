// Which names of a definition are accepted: those that no other definition of its group has.

import { aggregated } from '../../../src/kubernetes/status.ts';
import { goQuote } from '../../../src/std/go-text.ts';
import type { CustomResourceDefinition, DefinitionCondition, DefinitionNames } from './types.ts';

export interface AcceptedNames {
  readonly names: DefinitionNames;
  readonly condition: Omit<DefinitionCondition, 'lastTransitionTime'>;
}

/** The names that a definition may have beside all others; a name in use stays as it was. */
export function acceptNames({ spec, status }: CustomResourceDefinition, others: readonly CustomResourceDefinition[]): AcceptedNames {
  const wanted = spec.names;
  const had = status?.acceptedNames ?? { plural: '', kind: '' };
  const taken = takenNames(others.filter((other) => other.spec.group === spec.group));
  const conflicts: Conflict[] = [];
  const accepted = (reason: string, name: keyof DefinitionNames, used: ReadonlySet<string>) => {
    const next = String(wanted[name] ?? '');
    const isFree = next === had[name] || !used.has(next);
    if (!isFree) conflicts.push({ reason, message: inUse(next) });
    return isFree ? next : String(had[name] ?? '');
  };
  const plural = accepted('PluralConflict', 'plural', taken.resources);
  const singular = accepted('SingularConflict', 'singular', taken.resources);
  const shortNames = acceptShortNames(wanted.shortNames ?? [], had.shortNames ?? [], { used: taken.resources, conflicts });
  const kind = accepted('KindConflict', 'kind', taken.kinds);
  const listKind = accepted('ListKindConflict', 'listKind', taken.kinds);
  const { categories = [] } = wanted;
  return {
    names: {
      plural,
      ...(singular !== '' && { singular }),
      ...(shortNames.length > 0 && { shortNames }),
      kind,
      ...(listKind !== '' && { listKind }),
      ...(categories.length > 0 && { categories }),
    },
    condition: conditionOf(conflicts.at(-1)),
  };
}

interface Conflict {
  readonly reason: string;
  readonly message: string;
}

function takenNames(definitions: readonly CustomResourceDefinition[]): { resources: ReadonlySet<string>; kinds: ReadonlySet<string> } {
  const names = definitions.flatMap(({ status }) => status?.acceptedNames ?? []);
  return {
    resources: new Set(names.flatMap(({ plural, singular = '', shortNames = [] }) => [plural, singular, ...shortNames])),
    kinds: new Set(names.flatMap(({ kind, listKind = '' }) => [kind, listKind])),
  };
}

function acceptShortNames(
  wanted: readonly string[],
  had: readonly string[],
  { used, conflicts }: { used: ReadonlySet<string>; conflicts: Conflict[] },
): readonly string[] {
  const refused = wanted.filter((name) => !had.includes(name) && used.has(name));
  if (refused.length === 0) return wanted;
  conflicts.push({ reason: 'ShortNamesConflict', message: aggregated(refused.map(inUse)) });
  return had;
}

function inUse(name: string): string {
  return `${goQuote(name)} is already in use`;
}

function conditionOf(conflict: Conflict | undefined): AcceptedNames['condition'] {
  if (conflict !== undefined) return { type: 'NamesAccepted', status: 'False', ...conflict };
  return { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
}
