import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { printedText } from '../src/print.ts';
import { readText } from './support/repository.ts';

describe('purser print', () => {
  it.each([
    ['target-rbac', 'deploy/target/access.yaml', ['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding']],
    ['registration', 'deploy/samples/cluster.yaml', ['Cluster', 'Secret']],
  ])('prints %s as it can be applied, and how', async (what, path, kinds) => {
    const text = (await printedText(['print', what])) ?? '';
    const documents = parseAllDocuments(text);

    expect(text).toContain(`purser print ${what}`);
    expect(text.endsWith(readText(path))).toBe(true);
    expect(documents.map((document) => document.get('kind'))).toEqual(kinds);
  });

  it.each([[['print']], [['print', 'secrets']], [['print', 'constructor']], [['print', 'target-rbac', 'more']]])(
    'refuses %j',
    async (args) => {
      await expect(printedText(args)).rejects.toThrow('print takes one of: target-rbac, registration');
    },
  );

  it('leaves other commands to others', async () => {
    expect(await printedText(['run'])).toBeUndefined();
  });
});
