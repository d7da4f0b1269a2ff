// Texts that `npm start` prints while the local run starts and when it is ready.

import { relative } from 'node:path';
import type { AccessibleServer } from './access-files.ts';
import { isFederated } from './servers.ts';

type ShownServer = Pick<AccessibleServer, 'name' | 'url' | 'kubeconfig' | 'ca'>;

export interface WelcomeOptions {
  readonly hub: ShownServer;
  readonly targets: readonly ShownServer[];
  /** URL of the façade; clients append the name of a cluster. */
  readonly facade: string;
  /** URL of the metrics. */
  readonly metrics: string;
  /** Path of the data folder. */
  readonly folder: string;
  /** True if the clusters have samples. */
  readonly samples: boolean;
  /** Working directory; paths below it are printed as relative paths. */
  readonly cwd: string;
}

/** Returns the text to print while the servers start. */
export function startingText(clusters: number): string {
  const targets = clusters === 0 ? '' : ` and ${clusters} target cluster${clusters === 1 ? '' : 's'}`;
  return `Starting Purser with a hub${targets} on this machine.\n\n`;
}

/** Returns the text to print when all servers are ready; its commands can be pasted into a shell. */
export function welcomeText({ hub, targets, facade, metrics, folder, samples, cwd }: WelcomeOptions): string {
  const path = (absolute: string) => shellQuote(relativePath(absolute, cwd));
  const servers = [hub, ...targets];
  const width = (column: (server: ShownServer) => string) => Math.max(...servers.map((server) => column(server).length)) + 2;
  const nameWidth = width(({ name }) => name);
  const urlWidth = width(({ url }) => url);
  const rows = servers.map(({ name, url, kubeconfig }) => `  ${name.padEnd(nameWidth)}${url.padEnd(urlWidth)}${path(kubeconfig)}`);
  const [issuer = hub] = targets;
  const serviceAccount = samples && issuer !== hub ? 'deployer -n deploy' : 'default';
  return `Purser is running with these API servers and kubeconfig files:

${rows.join('\n')}

  façade:  ${facade}/CLUSTER
  metrics: ${metrics}
${targets.some(({ name }) => isFederated(name)) ? FEDERATION : ''}
Try in another terminal:

  kubectl --kubeconfig ${path(hub.kubeconfig)} get clusters,managedtokens -A
  kubectl --kubeconfig ${path(hub.kubeconfig)} explain managedtoken.spec
  kubectl --kubeconfig ${path(issuer.kubeconfig)} create token ${serviceAccount} --duration 1h
${issuer === hub ? '' : facadeCommands({ kubeconfig: path(hub.kubeconfig), ca: path(hub.ca), server: `${facade}/${issuer.name}`, samples })}
Press Ctrl-C to stop. All data is stored in ${path(folder)}. The log follows: warnings, and every token that is issued or removed.
`;
}

/** Returns commands that request a token through the façade, with the hub's kubeconfig: both have the same certificate authority. */
function facadeCommands({
  kubeconfig,
  ca,
  server,
  samples,
}: Readonly<Record<'kubeconfig' | 'ca' | 'server', string>> & { samples: boolean }): string {
  const [namespace, serviceAccount] = samples ? ['deploy', 'deployer'] : ['default', 'default'];
  const token = `$(kubectl --kubeconfig ${kubeconfig} config view --raw -o 'jsonpath={.users[0].user.token}')`;
  return `  kubectl --kubeconfig ${kubeconfig} create token ${serviceAccount} -n ${namespace} --audience ${AUDIENCE} --server ${server}
  curl --cacert ${ca} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' -d '{"spec":{"audiences":["${AUDIENCE}"]}}' \\
    ${server}/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token
`;
}

const FEDERATION = `
target-2 trusts tokens of the hub, so that no credential is stored for it.
`;
const AUDIENCE = 'https://kubernetes.default.svc';

function relativePath(absolute: string, cwd: string): string {
  const below = relative(cwd, absolute);
  return below === '' || below.startsWith('..') ? absolute : below;
}

function shellQuote(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
