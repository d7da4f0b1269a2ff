// Well-behaved tenants: their ManagedTokens, requested rotations, consumers of their Secrets, and a caller of the façade.

import { Agent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { Annotation } from '../../../src/api/names.ts';
import { type KubeObject, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { FacadeClient } from '../facade-client.ts';
import { textOf } from '../prober.ts';
import { buildServiceAccount, DEPLOY } from '../seed.ts';
import { GUESTS, POLITE, VICTIMS } from './names.ts';
import { digestCertificates } from './world.ts';

/** ManagedToken of a well-behaved tenant; its service account has the same name. */
export interface PoliteToken {
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  readonly spec?: object;
}

const ALL_OUTPUTS = { secret: { outputs: ['Token', 'Kubeconfig', 'ArgoCD'] } };

/** Tokens on Clusters that are not attacked; the bench measures their rotations. */
export const POLITE_TOKENS: readonly PoliteToken[] = ['one', 'one', 'one', 'one', 'two', 'two'].map((cluster, n) => {
  return { namespace: POLITE, name: `polite-${n + 1}`, cluster };
});
/** Tokens on Clusters under attack; the bench checks the addresses in their Secrets. */
export const VICTIM_TOKENS: readonly PoliteToken[] = [
  { namespace: VICTIMS, name: 'victim-1', cluster: 'two-prod', spec: ALL_OUTPUTS },
  { namespace: VICTIMS, name: 'victim-2', cluster: 'two-prod', spec: { secret: { outputs: ['ArgoCD'] } } },
  { namespace: VICTIMS, name: 'victim-3', cluster: 'hub', spec: ALL_OUTPUTS },
];
/** Revocable tokens whose permission the administrator withdraws and grants. */
export const GUEST_TOKENS: readonly PoliteToken[] = [1, 2, 3].map((n) => {
  const spec = { revocation: 'BoundSecret', requesterServiceAccountName: `guest-${n}` };
  return { namespace: GUESTS, name: `guest-${n}`, cluster: 'one', spec };
});

/** Creates a ManagedToken and its service account on the target. */
export async function createPolite(bench: Bench, { namespace, name, cluster, spec = {} }: PoliteToken): Promise<void> {
  await bench.target(cluster).api.apply(paths.serviceAccounts(DEPLOY, name), buildServiceAccount(DEPLOY, name));
  bench.recordCause(name, 'created');
  bench.history.add({ type: 'grant', token: name, allowed: true });
  const short = { expirationSeconds: 600, rotation: { renewBefore: '90%', suspend: false } };
  await bench.hub.api.create(paths.tokens(namespace), {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace },
    spec: { clusterName: cluster, serviceAccount: { namespace: DEPLOY, name }, audiences: ['https://hub.test'], ...short, ...spec },
  });
}

/** Returns the token in a well-behaved tenant's Secret, or an empty string if there is none or the hub does not respond. */
export async function readPoliteToken(bench: Bench, token: PoliteToken): Promise<string> {
  return (await tryReadPoliteToken(bench, token)) ?? '';
}

/** Returns the token in a well-behaved tenant's Secret: an empty string if there is none, and undefined if the hub does not respond. */
export async function tryReadPoliteToken(bench: Bench, { namespace, name }: PoliteToken): Promise<string | undefined> {
  return await bench.hub.api.find(paths.secrets(namespace, name)).then(textOf, () => undefined);
}

const ROTATE_EVERY_MS = 700;
const ROTATION_LIMIT_MS = 60_000;
const POLL_MS = 60;

/** Requests a rotation of each token in turn until the signal aborts; records the time of each. */
export async function rotatePolitely(bench: Bench, tokens: readonly PoliteToken[], signal: AbortSignal): Promise<void> {
  let requests = 0;
  const rotateInTurn = async (group: readonly PoliteToken[]) => {
    for (let n = 0; !signal.aborted; n += 1) {
      requests += 1;
      await measureRotation(bench, group[n % group.length] as PoliteToken, `polite-${Date.now()}-${requests}`, signal);
      await delay(ROTATE_EVERY_MS);
    }
  };
  const halves = [tokens.filter((_, n) => n % 2 === 0), tokens.filter((_, n) => n % 2 === 1)];
  await Promise.all(halves.map(rotateInTurn));
}

async function measureRotation(bench: Bench, token: PoliteToken, value: string, signal: AbortSignal): Promise<void> {
  const before = await readPoliteToken(bench, token);
  const startedAt = performance.now();
  bench.recordCause(token.name, Annotation.rotate);
  const body = { metadata: { annotations: { [Annotation.rotate]: value } } };
  await bench.hub.api.status('PATCH', paths.tokens(token.namespace, token.name), body, 'application/merge-patch+json');
  for (;;) {
    await delay(POLL_MS);
    const isDone = ![before, ''].includes(await readPoliteToken(bench, token));
    const tookMs = Math.round(performance.now() - startedAt);
    // Ignores a rotation that the end of a phase interrupts, unless it was already late.
    if (!isDone && signal.aborted && tookMs < ROTATION_LIMIT_MS / 4) return;
    if (!isDone && tookMs < ROTATION_LIMIT_MS && !signal.aborted) continue;
    return bench.history.add({ type: 'rotation', token: token.name, tookMs, isDone });
  }
}

const CONTROL_EVERY_MS = 500;

/** Sends the requests of a rotation without Purser, until the signal aborts: review, token, Secret, status. */
export async function measureControl({ hub, one, history }: Bench, signal: AbortSignal): Promise<void> {
  const [name, namespace] = ['control', POLITE];
  await one.api.apply(paths.serviceAccounts(DEPLOY, name), buildServiceAccount(DEPLOY, name));
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } };
  for (let n = 0; !signal.aborted; n += 1) {
    const startedAt = performance.now();
    await hub.api.status('POST', paths.reviews, { spec: { token: 'none' } });
    await one.api.status('POST', `${paths.serviceAccounts(DEPLOY, name)}/token`, { spec: { expirationSeconds: 600 } });
    for (const key of ['token', 'status']) {
      await hub.api.apply(paths.secrets(namespace, name), { ...secret, stringData: { [key]: String(n) } }).catch(() => {});
    }
    await hub.api.status('GET', paths.secrets(namespace, name));
    history.add({ type: 'control', tookMs: Math.round(performance.now() - startedAt) });
    await delay(CONTROL_EVERY_MS);
  }
}

const CALL_EVERY_MS = 500;

/** Requests tokens from the façade periodically until the signal aborts. */
export async function callPolitely(bench: Bench, signal: AbortSignal): Promise<void> {
  const client = await FacadeClient.connect(bench, bench.purser, POLITE);
  while (!signal.aborted) {
    bench.recordCause('polite-1', 'a caller of the façade');
    const startedAt = performance.now();
    const status = await client.issue('one', 'polite-1');
    bench.history.add({ type: 'call', status, tookMs: Math.round(performance.now() - startedAt) });
    await delay(CALL_EVERY_MS);
  }
  client.close();
}

const CONSUME_EVERY_MS = 700;

/** Uses the victims' tokens as a workload does, with the address and CA in the Secret, until the signal aborts. */
export async function consume(bench: Bench, signal: AbortSignal): Promise<void> {
  const last = new Map<string, string>();
  while (!signal.aborted) {
    for (const token of VICTIM_TOKENS) await consumeToken(bench, token, last);
    await delay(CONSUME_EVERY_MS);
  }
}

/** Records addresses and CAs in a Secret if they changed, and uses the token with each of them. */
async function consumeToken(bench: Bench, { namespace, name, cluster }: PoliteToken, last: Map<string, string>): Promise<void> {
  const secret = await bench.hub.api.find(paths.secrets(namespace, name)).catch(() => undefined);
  if (secret === undefined) return;
  const connections = parseConnections(secret);
  const [servers, cas] = [unique(connections.map(({ server }) => server)), unique(connections.flatMap(({ ca }) => digestCertificates(ca)))];
  const contents = JSON.stringify([servers, cas]);
  if (last.get(name) !== contents) bench.history.add({ type: 'written', token: name, cluster, servers, cas });
  last.set(name, contents);
  const text = textOf(secret);
  if (text === '') return;
  bench.prober.seenTokens.add(text);
  for (const connection of connections) await sendVersionRequest(connection, text);
}

interface Connection {
  readonly server: string;
  /** CA certificate, as PEM. */
  readonly ca: string;
}

/** Returns the connections in a Secret: the `server` key, the kubeconfig, and Argo CD's settings. */
function parseConnections({ data = {} }: KubeObject): readonly Connection[] {
  const read = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  const pem = (encoded: string) => Buffer.from(encoded, 'base64').toString();
  const kubeconfigs = [read('kubeconfig'), read('value')].map((text) => ({
    server: /^\s+server: "?([^"\n]+)"?$/m.exec(text)?.[1] ?? '',
    ca: pem(/certificate-authority-data: "?([\w+/=]+)/.exec(text)?.[1] ?? ''),
  }));
  const argo = { server: read('server'), ca: pem(/"caData":"([\w+/=]+)"/.exec(read('config'))?.[1] ?? '') };
  const all = [{ server: read('server'), ca: read('ca.crt') }, argo, ...kubeconfigs];
  return all.filter(({ server, ca }) => server !== '' && ca !== '');
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

/** Sends a request for the version with the token; ignores errors. */
async function sendVersionRequest({ server, ca }: Connection, token: string): Promise<void> {
  const agent = new Agent({ ca });
  await new Promise<void>((resolve) => {
    const outgoing = httpsRequest(
      `${server}/version`,
      { agent, headers: { authorization: `Bearer ${token}` }, timeout: 3_000 },
      (response) => {
        response.resume().on('end', resolve).on('error', resolve);
      },
    );
    outgoing.on('error', () => resolve()).on('timeout', () => outgoing.destroy(new Error('timeout')));
    outgoing.end();
  });
  agent.destroy();
}
