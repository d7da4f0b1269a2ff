// Texts derived from the options: `--help` and the table in docs/operating.md.

import type { Command } from './arguments.ts';
import { OPTIONS, type Option, variableOf } from './options.ts';

/** Returns the text of `--help` for one command, or for all commands. */
export function helpText(command?: Command): string {
  const options = Object.entries<Option>(OPTIONS)
    .filter(([, { localOnly }]) => command !== 'run' || !localOnly)
    .map(([name, option]) => [usageOf(name, option), describe(option)] as const);
  const width = Math.max(...options.map(([usage]) => usage.length)) + 2;
  const rows = (table: readonly (readonly [string, string])[]) =>
    table.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
  return `${INTRODUCTIONS[command ?? 'all']}
Options:
${rows(options)}

Environment variables:
${rows(VARIABLES)}
`;
}

/** Returns the options as a Markdown table. */
export function optionsTable(): string {
  const rows = Object.entries<Option>(OPTIONS)
    .filter(([, { printsAndExits }]) => !printsAndExits)
    .map(([name, option]) => {
      const initial = option.default === undefined ? (option.defaultDescription ?? '') : `\`${option.default}\``;
      const description = `${option.description}${option.localOnly ? ' (local run only)' : ''}`;
      return `| \`${usageOf(name, option)}\` | \`${variableOf(name)}\` | ${initial} | ${description} |\n`;
    });
  return `| option | variable | default | description |\n|---|---|---|---|\n${rows.join('')}`;
}

const INTRODUCTIONS = {
  all: `Usage: purser [run | dev] [options]
       purser print target-rbac | registration | hub-rbac | authentication-config [options]
       purser cluster revoke NAME [--context TARGET]

Commands:
  run      run Purser on the cluster that KUBECONFIG selects or, in a pod, on the pod's cluster
  dev      run Purser on this machine, with an embedded API server as the hub and target clusters
  print    print manifests and configuration that register a target cluster
  cluster  revoke Purser's credentials for a cluster

The default command is dev. For the options of one command, run purser help run, purser help dev, purser help print or purser help cluster.
The options from --data-dir to --no-samples apply to dev only.
In a checkout, replace purser with npm start --.
`,
  run: `Usage: purser run [options]

Runs Purser on the cluster that KUBECONFIG selects or, in a pod, on the pod's cluster.
`,
  dev: `Usage: purser dev [options]

Runs Purser on this machine, with an embedded API server as the hub and target clusters. Ignores KUBECONFIG.
`,
};

const VARIABLES = [
  ['HTTPS_PROXY, NO_PROXY', 'proxy for target clusters whose credential names no proxy, and hosts to reach without the proxy'],
  ['KUBECONFIG', 'kubeconfig file of the cluster to run on'],
  ['PURSER_…', `any option except --help and --version, for example ${variableOf('verify-interval')}=1h;`],
  ['', 'true or false for a flag; the command line overrides environment variables'],
] as const;

function usageOf(name: string, { value }: Option): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}`;
}

function describe({ description, default: initial, defaultDescription }: Option): string {
  const text = initial ?? defaultDescription;
  return text === undefined ? description : `${description} (default ${text})`;
}
