// What is told about the options, made from them: the text of `--help`, and the table in docs/operating.md.

import type { Command } from './arguments.ts';
import { OPTIONS, type Option, variableOf } from './options.ts';

/** The text of `--help`, for a command or for both of them. */
export function helpText(command?: Command): string {
  const options = Object.entries<Option>(OPTIONS)
    .filter(([, { local }]) => command !== 'run' || !local)
    .map(([name, option]) => [usageOf(name, option), `${option.text}${defaultOf(option) && ` (default ${defaultOf(option)})`}`] as const);
  const width = Math.max(...options.map(([usage]) => usage.length)) + 2;
  const rows = (table: readonly (readonly [string, string])[]) =>
    table.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
  return `${INTRODUCTIONS[command ?? 'either']}
Options:
${rows(options)}

Environment:
${rows(VARIABLES)}
`;
}

/** The options as a table for people. */
export function optionsTable(): string {
  const rows = Object.entries<Option>(OPTIONS)
    .filter(([, { asks }]) => !asks)
    .map(([name, option]) => {
      const initial = option.initial === undefined ? (option.otherwise ?? '') : `\`${option.initial}\``;
      const text = `${option.text}${option.local ? ' · local run' : ''}`;
      return `| \`${usageOf(name, option)}\` | \`${variableOf(name)}\` | ${initial} | ${text} |\n`;
    });
  return `| option | variable | default | |\n|---|---|---|---|\n${rows.join('')}`;
}

const INTRODUCTIONS = {
  either: `Usage: purser [run | dev] [options], or npm start -- [run | dev] [options]
       purser print target-rbac [--namespaces NS,NS] | registration

  run   Purser on the cluster that KUBECONFIG names, or on the one that its pod is in
  dev   Purser on this machine: a Kubernetes API server of its own (the hub), target clusters to issue tokens for, and
        Purser itself
  print What to apply to a cluster that tokens are wanted for, and to the hub, so that it is registered

Without a command it is run with KUBECONFIG set, and dev otherwise. The first options, up to --no-samples, count for
nothing in run.
`,
  run: `Usage: purser run [options]

Runs Purser on the cluster that KUBECONFIG names, or on the one that its pod is in.
`,
  dev: `Usage: purser dev [options]

Runs Purser on this machine: a Kubernetes API server of its own (the hub), target clusters to issue tokens for, and
Purser itself. KUBECONFIG counts for nothing.
`,
};

const VARIABLES = [
  ['HTTPS_PROXY, NO_PROXY', 'the proxy by which clusters are reached, and those that are reached without'],
  ['KUBECONFIG', 'the cluster to run on; empty counts as unset'],
  ['PURSER_…', `every option but the last two, such as ${variableOf('verify-interval')}=1h; true or false where`],
  ['', 'an option takes no value; the command line rules'],
] as const;

function usageOf(name: string, { value }: Option): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}`;
}

function defaultOf({ initial, otherwise }: Option): string {
  return initial ?? otherwise ?? '';
}
