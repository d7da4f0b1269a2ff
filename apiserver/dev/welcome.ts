// The text that `npm start` prints when the local run is ready.

import { relative } from 'node:path';
import type { Place } from './access-files.ts';

type Shown = Pick<Place, 'name' | 'url' | 'kubeconfig' | 'ca'>;

export interface WelcomeOptions {
  readonly hub: Shown;
  readonly targets: readonly Shown[];
  /** Address of the façade, to which clients append the name of a cluster. */
  readonly facade: string;
  /** Address of the metrics. */
  readonly metrics: string;
  /** Path of the data folder. */
  readonly folder: string;
  /** True if the samples were added. */
  readonly samples: boolean;
  /** Working directory; paths below it are printed as relative paths. */
  readonly cwd: string;
}

/** Returns the text to print while the servers start. */
export function startingText(clusters: number): string {
  const targets = clusters === 0 ? '' : ` and ${clusters} target cluster${clusters === 1 ? '' : 's'}`;
  return `Starting Purser with a hub${targets} on this machine …\n\n`;
}

/** Returns the text to print when everything serves; its commands can be pasted into a shell. */
export function welcomeText({ hub, targets, facade, metrics, folder, samples, cwd }: WelcomeOptions): string {
  const path = (absolute: string) => quoted(shown(absolute, cwd));
  const places = [hub, ...targets];
  const width = (column: (place: Shown) => string) => Math.max(...places.map((place) => column(place).length)) + 2;
  const nameWidth = width(({ name }) => name);
  const urlWidth = width(({ url }) => url);
  const rows = places.map(({ name, url, kubeconfig }) => `  ${name.padEnd(nameWidth)}${url.padEnd(urlWidth)}${path(kubeconfig)}`);
  const [issuer = hub] = targets;
  const account = samples && issuer !== hub ? 'deployer -n deploy' : 'default';
  return `Purser is running with these API servers and kubeconfig files:

${rows.join('\n')}

  façade:  ${facade}/CLUSTER
  metrics: ${metrics}

Try in another terminal:

  kubectl --kubeconfig ${path(hub.kubeconfig)} get clusters,managedtokens -A
  kubectl --kubeconfig ${path(hub.kubeconfig)} explain managedtoken.spec
  kubectl --kubeconfig ${path(issuer.kubeconfig)} create token ${account} --duration 1h
${issuer === hub ? '' : throughFacade({ kubeconfig: path(hub.kubeconfig), ca: path(hub.ca), server: `${facade}/${issuer.name}`, samples })}
Press Ctrl-C to stop. All data is stored in ${path(folder)}.
`;
}

/** Returns commands that request a token through the façade. The hub's kubeconfig also works there: both have the same certificate authority. */
function throughFacade({
  kubeconfig,
  ca,
  server,
  samples,
}: Readonly<Record<'kubeconfig' | 'ca' | 'server', string>> & { samples: boolean }): string {
  const [namespace, account] = samples ? ['deploy', 'deployer'] : ['default', 'default'];
  const token = `$(kubectl --kubeconfig ${kubeconfig} config view --raw -o 'jsonpath={.users[0].user.token}')`;
  return `  kubectl --kubeconfig ${kubeconfig} create token ${account} -n ${namespace} --audience ${AUDIENCE} --server ${server}
  curl --cacert ${ca} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' -d '{"spec":{"audiences":["${AUDIENCE}"]}}' \\
    ${server}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token
`;
}

const AUDIENCE = 'https://kubernetes.default.svc';

function shown(absolute: string, cwd: string): string {
  const below = relative(cwd, absolute);
  return below === '' || below.startsWith('..') ? absolute : below;
}

function quoted(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
