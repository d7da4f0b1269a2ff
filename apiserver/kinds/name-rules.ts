// What the names of objects may be; kinds differ in this.

import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  pathSegmentPrefixProblems,
  pathSegmentProblems,
} from '../../src/kubernetes/names.ts';

/** Why `name` may not be a name, in Kubernetes' words; `prefix` when something will be appended to it. */
export type NameProblems = (name: string, prefix: boolean) => readonly string[];

/** Most kinds: a DNS-1123 subdomain. */
export const subdomainName: NameProblems = (name, prefix) => dns1123SubdomainProblems(prefix ? withMaskedDash(name) : name);

/** Namespaces: a DNS-1123 label. */
export const labelName: NameProblems = (name, prefix) => dns1123LabelProblems(prefix ? withMaskedDash(name) : name);

/** What every name must be at least: one segment of a path. */
export const pathSegmentName: NameProblems = (name, prefix) => (prefix ? pathSegmentPrefixProblems(name) : pathSegmentProblems(name));

/** Roles and bindings: one segment of a path, prefixes included. */
export const rbacName: NameProblems = (name) => pathSegmentProblems(name);

/** A prefix may end with a dash. Kubernetes masks the character before it too, and so lets some bad prefixes pass. */
function withMaskedDash(name: string): string {
  return name.replace(/[\p{ASCII}]-$/u, 'a');
}
