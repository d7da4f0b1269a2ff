// Parses the table of permissions in docs/security.md.

import { readText } from '../support/repository.ts';

/** RBAC rule with one or more verbs on one resource or path. */
export interface PermissionRule {
  readonly verbs: readonly string[];
  /** API group; undefined for a path such as /metrics. */
  readonly group: string | undefined;
  /** Resource with its subresource, or a path. */
  readonly resource: string;
  readonly name: string | undefined;
}

export interface Permission {
  /** Text of the first cell. */
  readonly title: string;
  readonly rules: readonly PermissionRule[];
  readonly scope: 'cluster' | 'a namespace' | "Purser's namespace";
  /** Name of the shipped role that has this permission; undefined if none has. */
  readonly role: string | undefined;
  readonly can: readonly string[];
  readonly cannot: readonly string[];
}

/** Parses the rows of the table. Throws for a row in another format. */
export function permissions(): readonly Permission[] {
  const [, below = ''] = readText('docs/security.md').split('\n## Permissions\n');
  const [section = ''] = below.split(/^## /m);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const [title = '', role = '', can = '', cannot = ''] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    const [, permission = '', scope = 'cluster'] = /^(.*?)(?: in (a namespace|Purser's namespace))?$/.exec(title) ?? [];
    return {
      title,
      rules: permission.split(' and ').map(ruleOf),
      scope: scope as Permission['scope'],
      role: role === '' ? undefined : codeOf(role),
      can: can.split('; '),
      cannot: cannot.split('; '),
    };
  });
}

function ruleOf(text: string): PermissionRule {
  const [, verbs, target, name] = /^((?:`\w+`(?:, )?)+) on (`[^`]+`)(?: named (`[^`]+`))?$/.exec(text) ?? [];
  if (verbs === undefined || target === undefined) throw new Error(`not a permission: ${text}`);
  const [, resource = '', group = '', subresource = ''] = /^(\/?[a-z]+)(?:\.([a-z0-9.-]+))?(\/[a-z]+)?$/.exec(codeOf(target)) ?? [];
  const isPath = resource.startsWith('/');
  return {
    verbs: verbs.split(', ').map(codeOf),
    group: isPath ? undefined : group,
    resource: `${resource}${subresource}`,
    name: name === undefined ? undefined : codeOf(name),
  };
}

function codeOf(text: string): string {
  const [, code] = /^`([^`]+)`$/.exec(text) ?? [];
  if (code === undefined) throw new Error(`not a code span: ${text}`);
  return code;
}
