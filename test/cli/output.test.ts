import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Clusters } from '../../src/api/resources.ts';
import type { CommandHost } from '../../src/cli/command.ts';
import type { OutputFormat } from '../../src/cli/options.ts';
import { type Column, printList, printObject } from '../../src/cli/output.ts';

const clusterOf = (name: string, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { name, annotations, managedFields: [{ manager: 'kubectl' }] },
  spec: {},
});
type Cluster = ReturnType<typeof clusterOf>;

const COLUMNS: readonly Column<Cluster>[] = [
  { name: 'NAME', text: ({ metadata }) => metadata.name },
  { name: 'NOTE', text: ({ metadata }) => metadata.annotations['note'] ?? '' },
  { name: 'REGION', wide: true, text: () => 'eu' },
];

function captureOutput(print: typeof printList | typeof printObject, value: never, output?: OutputFormat) {
  const texts = { output: '', stderr: '' };
  const host = { print: (text: string) => (texts.output += text), warn: (text: string) => (texts.stderr += text) };
  print(host as unknown as CommandHost, value, { resource: Clusters, columns: COLUMNS, output } as never);
  return texts;
}

const CLUSTERS = [clusterOf('target-1', { note: 'a\u001B[31m b\nc' }), clusterOf('b')];

describe('printList', () => {
  it.each([
    [undefined, 'NAME       NOTE\ntarget-1   a [31m b c\nb          <none>\n'],
    ['table', 'NAME       NOTE\ntarget-1   a [31m b c\nb          <none>\n'],
    ['wide', 'NAME       NOTE         REGION\ntarget-1   a [31m b c   eu\nb          <none>       eu\n'],
    ['name', 'cluster.registry.purser.dev/target-1\ncluster.registry.purser.dev/b\n'],
  ] as const)('prints objects without control characters for -o %s', (output, expected) => {
    expect(captureOutput(printList, CLUSTERS as never, output)).toEqual({ output: expected, stderr: '' });
  });

  it.each(['json', 'yaml'] as const)('prints a List without managedFields for -o %s', (output) => {
    expect(parse(captureOutput(printList, [clusterOf('b')] as never, output).output)).toEqual({
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: '' },
      items: [{ apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'b', annotations: {} }, spec: {} }],
    });
  });

  it.each(['json', 'yaml'] as const)('escapes control characters for -o %s', (output) => {
    const note = 'a\u001b]0;x\u0007\nb\u009b2J\u202e\u2028\u{e0001}\u007f';
    const texts = captureOutput(printList, [clusterOf('b', { note, [note]: 'key' })] as never, output).output;
    expect(texts.replaceAll('\n', '')).not.toMatch(/[\p{C}\u2028]/u);
    expect(parse(texts)).toMatchObject({ items: [{ metadata: { annotations: { note, [note]: 'key' } } }] });
  });

  it('quotes words in YAML that kubectl would read as another type', () => {
    const words = [
      'y',
      'n',
      'no',
      'No',
      'yes',
      'on',
      'off',
      '1_000',
      '0b1',
      '0o17',
      '017',
      '12:30',
      '2026-01-01',
      'true',
      'null',
      '1e3',
      '0X1F',
    ];
    const annotations = Object.fromEntries(words.map((word) => [word, word]));
    const { output } = captureOutput(printList, [clusterOf('no', annotations)] as never, 'yaml');
    expect(parse(output, { version: '1.1' })).toMatchObject({ items: [{ metadata: { name: 'no', annotations } }] });
    // Go reads more numbers than YAML 1.1 has.
    expect(output).toContain('"0X1F": "0X1F"');
  });

  it('prints a note to standard error if there are no objects', () => {
    expect(captureOutput(printList, [] as never)).toEqual({ output: '', stderr: 'No resources found.\n' });
  });
});

describe('printObject', () => {
  it('prints the object itself as JSON, and a table of one row', () => {
    const { output } = captureOutput(printObject, clusterOf('b') as never, 'json');
    expect(JSON.parse(output)).toMatchObject({ kind: 'Cluster', metadata: { name: 'b' } });
    expect(captureOutput(printObject, clusterOf('b') as never).output).toBe('NAME   NOTE\nb      <none>\n');
  });
});
