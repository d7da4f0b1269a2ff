// Lower bound for issuance: sends the requests that Purser sends for a first token, and nothing else, as a separate process.
// Reads its job from the file in its first argument, and sends the elapsed time and the CPU time to its parent.

import { readFile } from 'node:fs/promises';
import { Pool } from 'undici';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { inParallel } from './in-parallel.ts';

/** Tokens to issue, and the settings of the loop. */
export interface BareJob {
  readonly hub: BareServer;
  readonly target: BareServer;
  readonly tokens: readonly ManagedToken[];
  readonly concurrency: number;
  /** Share of tokens for which an Event is written. */
  readonly eventShare: number;
}

/** API server with the client certificate for it. */
export interface BareServer {
  readonly url: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const job = JSON.parse(await readFile(process.argv[2] as string, 'utf8')) as BareJob;
const pools = { hub: poolOf(job.hub), target: poolOf(job.target) };
const targetCa = base64(job.target.ca);

function poolOf({ url, ca, certificate, key }: BareServer): Pool {
  return new Pool(url, { connections: job.concurrency, connect: { ca, cert: certificate, key } });
}

async function send<T>(pool: Pool, method: 'GET' | 'POST' | 'PUT', path: string, content?: object): Promise<T> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const { statusCode, body } = await pool.request({ method, path, headers, ...(content && { body: JSON.stringify(content) }) });
  const text = await body.text();
  if (statusCode >= 300) throw new Error(`${method} ${path} returned ${statusCode}: ${text}`);
  return JSON.parse(text) as T;
}

async function issueToken(token: ManagedToken, index: number): Promise<void> {
  const { namespace, name = '', uid = '' } = token.metadata;
  const { spec } = token;
  await send(pools.hub, 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', reviewOf(namespace));
  const { serviceAccount, audiences, expirationSeconds } = spec;
  const { status } = await send<{ readonly status: { readonly token: string; readonly expirationTimestamp: string } }>(
    pools.target,
    'POST',
    `/api/v1/namespaces/${serviceAccount.namespace}/serviceaccounts/${serviceAccount.name}/token`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: { audiences, expirationSeconds } },
  );
  const tokens = `/apis/tokens.purser.dev/v1alpha1/namespaces/${namespace}/managedtokens/${name}/status?fieldManager=bare`;
  await send(pools.hub, 'POST', `/api/v1/namespaces/${namespace}/secrets?fieldManager=bare`, secretOf(token, status));
  await send(pools.hub, 'PUT', tokens, { ...token, status: statusOf(token, status.expirationTimestamp) });
  if (Math.floor(index * job.eventShare) === Math.floor((index + 1) * job.eventShare)) return;
  const event = {
    metadata: { namespace, name: `${name}.${uid}` },
    involvedObject: { apiVersion: token.apiVersion, kind: 'ManagedToken', namespace, name, uid },
    type: 'Normal',
    reason: 'Issued',
    message: `Issued a token for the service account deploy/deployer on target, valid until ${status.expirationTimestamp}.`,
    source: { component: 'bare' },
    count: 1,
  };
  await send(pools.hub, 'POST', `/api/v1/namespaces/${namespace}/events?fieldManager=bare`, event);
}

function reviewOf(namespace: string): object {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const resource = { group: 'registry.purser.dev', resource: 'clusters', subresource: 'token', verb: 'issue', name: 'target' };
  const spec = { user: `system:serviceaccount:${namespace}:default`, groups, resourceAttributes: resource };
  return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
}

function secretOf({ metadata }: ManagedToken, issued: { readonly token: string; readonly expirationTimestamp: string }): object {
  const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: metadata.name, uid: metadata.uid };
  const record = { 'bench/expires-at': issued.expirationTimestamp, 'bench/record': 'x'.repeat(600) };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: metadata.name, labels: { bench: 'bare' }, annotations: record, ownerReferences: [{ ...owner, controller: true }] },
    type: 'Opaque',
    data: { token: base64(issued.token), 'ca.crt': targetCa, server: base64(job.target.url), namespace: base64('deploy') },
  };
}

function statusOf(token: ManagedToken, expirationTimestamp: string): object {
  const at = token.metadata.creationTimestamp;
  const condition = { status: 'True', reason: 'Issued', message: 'The token is in its Secret.', lastTransitionTime: at };
  return {
    observedGeneration: 1,
    conditions: [
      { type: 'Ready', ...condition },
      { type: 'RotationFailing', ...condition, status: 'False' },
    ],
    secretName: token.metadata.name,
    issuedAt: at,
    expirationTimestamp,
    nextRotationTime: expirationTimestamp,
    rotations: 0,
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

// Opens all connections before the measurement, because Purser has open connections after its lists.
await Promise.all(
  Object.values(pools).map((pool) => inParallel(Array.from({ length: job.concurrency }), () => send(pool, 'GET', '/version'))),
);
const [startedAt, before] = [performance.now(), process.cpuUsage()];
await inParallel(job.tokens, issueToken, job.concurrency);
const { user, system } = process.cpuUsage(before);
process.send?.({ seconds: (performance.now() - startedAt) / 1_000, cpuSeconds: (user + system) / 1_000_000 });
await Promise.all(Object.values(pools).map((pool) => pool.close()));
