import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import {
  defineAllNamespacesOption,
  defineContextOption,
  defineHubContextOption,
  defineKubeconfigOption,
  defineNamespaceOption,
  defineOutputOption,
  defineTimeoutOption,
} from '../../src/cli/options.ts';

function parse(...args: readonly string[]): unknown {
  const command = new Command().exitOverride();
  const options = [
    defineAllNamespacesOption,
    defineContextOption,
    defineHubContextOption,
    defineKubeconfigOption,
    defineNamespaceOption,
    defineOutputOption,
  ];
  for (const option of [...options.map((each) => each()), defineTimeoutOption('2m', 'maximum time to wait')]) command.addOption(option);
  return command.parse(args, { from: 'user' }).opts();
}

describe('shared options', () => {
  it('parses long and short option names, and durations in milliseconds', () => {
    expect(
      parse('-A', '-n', 'team-a', '-o', 'wide', '--context', 'a', '--hub-context', 'b', '--kubeconfig', 'c', '--timeout', '90s'),
    ).toEqual({
      allNamespaces: true,
      namespace: 'team-a',
      output: 'wide',
      context: 'a',
      hubContext: 'b',
      kubeconfig: 'c',
      timeout: 90_000,
    });
    expect(parse()).toEqual({ timeout: 120_000 });
  });

  it.each([
    [
      ['-n', 'A'],
      '--namespace must be a namespace name: at most 63 lowercase letters, digits and hyphens, with a letter or digit at both ends, not "A"',
    ],
    [['-o', 'xml'], '--output must be one of table, wide, json, yaml, name, not "xml"'],
    [['--timeout', 'soon'], '--timeout must be a duration such as 2m, not "soon"'],
    [['--timeout=-5s'], '--timeout must be a duration such as 2m, not "-5s"'],
  ])('rejects %j', (args, message) => {
    expect(() => parse(...args)).toThrow(message);
  });
});
