// Runs the health checks for Argo CD, translated from Lua to JavaScript, on objects in all states.

import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { ClusterReason, ReadyReason } from '../../src/api/reasons.ts';
import { readText } from '../support/repository.ts';

const { data } = parse(readText('deploy/samples/argo-cd-health.yaml')) as { readonly data: Readonly<Record<string, string>> };

function healthOf(kind: string, obj: object): string {
  const lua = data[`resource.customizations.health.${kind}`] ?? '';
  const { status, message } = runInNewContext(toJavaScript(lua), { obj }) as { readonly status: string; readonly message: string };
  return `${status}: ${message}`;
}

const ready = (status: string, reason: string) => ({ type: 'Ready', status, reason, message: 'message of Ready' });

describe('health of a ManagedToken in Argo CD', () => {
  const health = (conditions: readonly object[], observedGeneration = 2) =>
    healthOf('tokens.purser.dev_ManagedToken', { metadata: { generation: 2 }, status: { conditions, observedGeneration } });

  it.each([
    ['Issued', 'True', 'Healthy'],
    ['Pending', 'False', 'Progressing'],
    ['Suspended', 'False', 'Suspended'],
    ...Object.keys(ReadyReason)
      .filter((reason) => !['Issued', 'Pending', 'Suspended'].includes(reason))
      .map((reason) => [reason, 'False', 'Degraded'] as const),
  ])('maps the reason %s of Ready with status %s to %s', (reason, status, expected) => {
    expect(health([{ type: 'RotationFailing', status: 'False' }, ready(status, reason)])).toBe(`${expected}: message of Ready`);
  });

  it('reports Progressing without a status, and for a status of an earlier spec', () => {
    const none = healthOf('tokens.purser.dev_ManagedToken', { metadata: { generation: 1 } });
    expect([none, health([ready('True', 'Issued')], 1)]).toEqual([
      'Progressing: Purser has not reported a status yet.',
      'Progressing: Purser has not reconciled the current spec yet.',
    ]);
  });
});

describe('health of a Cluster in Argo CD', () => {
  const spec = { authInfo: { controller: { kind: 'Secret' } } };
  const health = (...conditions: readonly object[]) => healthOf('registry.purser.dev_Cluster', { spec, status: { conditions } });

  it.each([
    ['True', 'Healthy'],
    ['False', 'Degraded'],
    ['Unknown', 'Progressing'],
  ])('maps the status %s of Ready to %s', (status, expected) => {
    expect(health(ready(status, 'Any'))).toBe(`${expected}: message of Ready`);
  });

  it('reports Degraded with an expired credential, and Healthy with one that expires soon', () => {
    const fresh = (reason: keyof typeof ClusterReason) => ({
      type: 'CredentialFresh',
      status: 'False',
      reason,
      message: ClusterReason[reason],
    });
    expect([
      health(fresh('CredentialExpired'), ready('True', 'ClusterReady')),
      health(ready('True', 'ClusterReady'), fresh('CredentialExpiring')),
    ]).toEqual([`Degraded: ${ClusterReason.CredentialExpired}`, 'Healthy: message of Ready']);
  });

  it('reports Progressing before the first probe, and Healthy without a credential', () => {
    expect(healthOf('registry.purser.dev_Cluster', { spec })).toMatch(/^Progressing: /);
    expect(healthOf('registry.purser.dev_Cluster', { spec: {} })).toMatch(/^Healthy: /);
  });
});

/** Translates the statements of Lua that the health checks use. Throws for any other statement. */
function toJavaScript(lua: string): string {
  const lines = lua
    .trimEnd()
    .split('\n')
    .map((line) => line.trim());
  return `(() => {\n${lines.map(toStatement).join('\n')}\n})()`;
}

function toStatement(line: string): string {
  if (line === 'end') return '}';
  for (const [pattern, translate] of STATEMENTS) {
    const match = pattern.exec(line);
    if (match !== null) return translate(match[1] ?? '', match[2] ?? '');
  }
  throw new Error(`The test does not translate this line of Lua: ${line}`);
}

const STATEMENTS: readonly (readonly [RegExp, (first: string, second: string) => string])[] = [
  [/^for _, (\w+) in ipairs\(([\w.]+)\) do$/, (item, list) => `for (const ${item} of ${list}) {`],
  [/^if (.+) then$/, (test) => `if (${toExpression(test)}) {`],
  [/^elseif (.+) then$/, (test) => `} else if (${toExpression(test)}) {`],
  [
    /^local (\w+) = \{ (.+) \}$/,
    (name, fields) => `const ${name} = { ${outsideStrings(fields, (text) => text.replaceAll(' = ', ': '))} };`,
  ],
  [/^([\w.]+) = (.+)$/, (target, value) => `${target} = ${toExpression(value)};`],
  [/^return (\w+)$/, (value) => `return ${value};`],
];

function toExpression(lua: string): string {
  return outsideStrings(lua, (text) =>
    text
      .replaceAll(/\bnil\b/g, 'undefined')
      .replaceAll('==', '===')
      .replaceAll('~=', '!==')
      .replaceAll(' and ', ' && ')
      .replaceAll(' or ', ' || '),
  );
}

/** Replaces text outside double quotes. */
function outsideStrings(text: string, replace: (part: string) => string): string {
  return text
    .split('"')
    .map((part, index) => (index % 2 === 0 ? replace(part) : part))
    .join('"');
}
