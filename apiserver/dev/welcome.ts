// The text that `purser dev` prints when the local run is ready. It fits on one screen.

import { relative } from 'node:path';
import type { AccessibleServer } from './access-files.ts';
import { isFederated } from './servers.ts';

type ShownServer = Pick<AccessibleServer, 'name' | 'url' | 'kubeconfig'>;

export interface WelcomeOptions {
  readonly hub: ShownServer;
  readonly targets: readonly ShownServer[];
  /** URL of the façade; clients append the name of a cluster. */
  readonly facade: string;
  /** URL of the web UI; undefined if it is not served. */
  readonly page: string | undefined;
  /** URL of the metrics. */
  readonly metrics: string;
  /** Path of the data folder. */
  readonly folder: string;
  /** True if the clusters have samples. */
  readonly samples: boolean;
  /** Working directory; paths below it are printed as relative paths. */
  readonly cwd: string;
}

/** Returns the text that a local run prints at startup: the addresses of its servers, and three commands to paste into a shell. */
export function formatWelcomeText(options: WelcomeOptions): string {
  const { hub, targets, facade, folder, samples, cwd } = options;
  const path = toRelativePath(hub.kubeconfig, cwd);
  const kubeconfig = path === hub.kubeconfig ? quoteForShell(path) : `$PWD/${quoteForShell(path)}`;
  const [first] = targets;
  const [namespace, serviceAccount] = samples && first !== undefined ? ['deploy', 'deployer'] : ['default', 'default'];
  const server = first === undefined ? '' : ` --audience ${AUDIENCE} --server ${facade}/${first.name}`;
  return `Purser is ready:

${formatAddressLines(options).join('\n')}

Try in another terminal:

  export KUBECONFIG=${kubeconfig}
  kubectl get clusters,managedtokens -A
  kubectl create token ${serviceAccount} -n ${namespace}${server}

Press Ctrl-C to stop. Data is stored in ${toRelativePath(folder, cwd)}. The log follows: by default, warnings and decisions about tokens.
`;
}

/** Returns aligned lines with names, addresses and kubeconfig files; lists only the first targets, so that the text fits on one screen. */
function formatAddressLines({ hub, targets, facade, page, metrics, folder, cwd }: WelcomeOptions): readonly string[] {
  const shown = targets.slice(0, MAX_TARGETS);
  const rows: readonly (readonly string[])[] = [
    ...[hub, ...shown].map((server) => [server.name, server.url, toRelativePath(server.kubeconfig, cwd), formatNote(server)]),
    ...(targets.length > shown.length ? [['…', `more targets: ${targets.length - shown.length}`, toRelativePath(folder, cwd)]] : []),
    ['façade', `${facade}/CLUSTER`],
    ...(page === undefined ? [] : [['web UI', page]]),
    ['metrics', metrics],
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
}

const MAX_TARGETS = 5;
const AUDIENCE = 'https://kubernetes.default.svc';

function formatNote({ name }: ShownServer): string {
  return isFederated(name) ? '(trusts the hub, no stored token)' : '';
}

function toRelativePath(absolute: string, cwd: string): string {
  const below = relative(cwd, absolute);
  return below === '' || below.startsWith('..') ? absolute : below;
}

function quoteForShell(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
