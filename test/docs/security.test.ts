// Compares the table of permissions in docs/security.md with the roles of deploy/base and of federation. test/real/permissions.test.ts
// sends the requests that the table describes.

import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readText } from '../support/repository.ts';
import { permissions } from './permissions.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly nonResourceURLs?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const rolesIn = (file: string) =>
  parseAllDocuments(readText(`deploy/${file}`))
    .map((document) => document.toJS() as Role)
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
const ofPeople = rolesIn('base/people.yaml');
const ofPurser = [...rolesIn('base/access.yaml'), ...rolesIn('components/federation/access.yaml')];

/** Returns the permissions of roles, one line for each verb. */
function granted(roles: readonly Role[]): readonly string[] {
  return roles.flatMap(({ metadata, rules }) =>
    rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [''], nonResourceURLs = [], verbs }) => {
      const named = apiGroups.flatMap((group) => resources.flatMap((resource) => resourceNames.map((name) => [group, resource, name])));
      const targets = [...named, ...nonResourceURLs.map((path) => ['', path, ''])];
      return targets.flatMap((target) => verbs.map((verb) => [metadata.name, verb, ...target].join(' ')));
    }),
  );
}

const documented = permissions().flatMap(({ role, rules }) =>
  role === undefined
    ? []
    : rules.flatMap(({ verbs, group = '', resource, name = '' }) => verbs.map((verb) => [role, verb, group, resource, name].join(' '))),
);

describe('table of permissions in docs/security.md', () => {
  it('lists every rule of the roles for users', () => {
    const lines = granted(ofPeople);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => !documented.includes(line))).toEqual([]);
  });

  it('names no role that lacks the permission', () => {
    const lines = granted([...ofPeople, ...ofPurser]);
    expect(documented.filter((line) => !lines.includes(line))).toEqual([]);
  });

  it('names the namespace of roles that apply only in Purser’s namespace', () => {
    const namespaced = new Set(ofPeople.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.name));
    const rows = permissions().filter(({ role }) => role !== undefined && namespaced.has(role));
    expect(rows.filter(({ scope }) => scope !== "Purser's namespace")).toEqual([]);
  });

  it('lists every rule of the role for federation', () => {
    const lines = granted(rolesIn('components/federation/access.yaml'));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => !documented.includes(line))).toEqual([]);
  });

  it('lists every rule for ClusterProfiles', () => {
    const lines = granted(ofPurser).filter((line) => line.includes(' multicluster.x-k8s.io '));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => !documented.includes(line))).toEqual([]);
  });

  it('lists allowed and rejected actions for every permission', () => {
    for (const { can, cannot } of permissions()) {
      expect([...can, ...cannot]).not.toContain('');
      expect(can.filter((action) => cannot.includes(action))).toEqual([]);
    }
  });

  it('grants the verbs repoint and record only in the roles that need them', () => {
    const virtual = granted([...ofPeople, ...ofPurser]).filter((line) => / (repoint|record) /.test(line));
    expect(virtual).toEqual([
      'purser-cluster-administrator repoint registry.purser.dev clusters ',
      'purser-controller-tokens record tokens.purser.dev managedtokens ',
    ]);
  });
});
