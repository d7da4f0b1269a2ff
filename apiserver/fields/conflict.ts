// The refusal of an apply that would change fields of others.

import { type StatusError, statusError } from '../../src/kubernetes/status.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { type FieldSet, pathsOf, printPath } from './field-set.ts';
import type { Ownerships } from './ownership.ts';

/** The conflicts of an apply: what each owner would lose, by owner. */
export function applyConflict(taken: ReadonlyMap<string, FieldSet>, ownerships: Ownerships): StatusError {
  const conflicts = [...taken]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, fields]) => ({ owner: printOwner(key, ownerships), paths: [...pathsOf(fields)].map(printPath) }));
  const causes = conflicts.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field })),
  );
  const [only, ...more] = causes;
  if (only !== undefined && more.length === 0) {
    return statusError('Conflict', `Apply failed with 1 conflict: ${only.message}: ${only.field}`, { causes });
  }
  const lines = conflicts.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  return statusError('Conflict', `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, { causes });
}

function printOwner(key: string, ownerships: Ownerships): string {
  const owner = ownerships.get(key);
  if (owner === undefined) return goQuote(key);
  const subresource = owner.subresource === '' ? '' : ` with subresource ${goQuote(owner.subresource)}`;
  const version = owner.operation === 'Update' ? ` using ${owner.apiVersion}` : '';
  return `${goQuote(owner.manager)}${subresource}${version}`;
}
