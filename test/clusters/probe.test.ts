import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { explainRejection } from '../../src/clusters/probe.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import type { AddressToken } from '../../src/targets/credential.ts';
import type { Target } from '../../src/targets/target.ts';

const SUPPORT = join(import.meta.dirname, '../support');
const children: ChildProcess[] = [];

/** Starts a test program with this limit on open files and sockets. */
function start(program: string, args: readonly string[], limit: number): ChildProcess {
  const script = `ulimit -n ${limit} && exec "$0" --disable-warning=ExperimentalWarning "$@"`;
  const child = spawn('/bin/sh', ['-c', script, process.execPath, join(SUPPORT, program), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  children.push(child);
  return child;
}

async function firstMessage<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the program ended with ${code}`)));
  ended.catch(() => {});
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [T];
  return message;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

it('reports ProbeFailed when this machine has no sockets left', async () => {
  const fleet = await firstMessage<object>(start('stub-targets-process.ts', ['100'], 1_000));
  const prober = start('probe-process.ts', [], 80);
  prober.send(fleet);
  const faults = await firstMessage<readonly string[]>(prober);
  expect(faults).toHaveLength(100);
  expect(new Set(faults)).toEqual(new Set(['none', 'ProbeFailed']));
});

const SERVER = 'https://a.example.com';
const REJECTED = { reason: 'CredentialRejected', detail: 'Unauthorized' } as const;
const token: AddressToken = {
  audience: `purser:${SERVER}`,
  issuer: 'https://hub.example.com',
  times: undefined,
  failure: undefined,
  current: undefined,
  get: () => Promise.reject(new Error('unused')),
  replace: () => Promise.reject(new Error('unused')),
};
const federated = { activeServer: SERVER, credential: { type: 'serviceAccount', tokens: new Map([[SERVER, token]]) } } as const;

/** Returns a hub that responds to reviews with this status, and the reviews that it received. */
function hubWith(status: () => object) {
  const reviews: unknown[] = [];
  const createReview = async (_: unknown, review: unknown) => {
    reviews.push(review);
    return { status: status() };
  };
  return { reviews, hub: { createReview } as unknown as Pick<KubeClient, 'createReview'> };
}

const explain = (target: Pick<Target, 'credential' | 'activeServer'>, hub: Pick<KubeClient, 'createReview'>, fault = REJECTED) =>
  explainRejection(fault, target, hub, new AbortController().signal);

describe('explainRejection', () => {
  it('names the missing binding if the hub rejects anonymous reads of its keys', async () => {
    const { hub, reviews } = hubWith(() => ({ allowed: false }));
    expect((await explain(federated, hub)).remedy).toContain('system:service-account-issuer-discovery');
    expect(reviews).toEqual([
      {
        spec: {
          user: 'system:anonymous',
          groups: ['system:unauthenticated'],
          nonResourceAttributes: { path: '/openid/v1/jwks', verb: 'get' },
        },
      },
    ]);
  });

  it.each<[string, () => object]>([
    ['allows anonymous reads of its keys', () => ({ allowed: true })],
    [
      'does not respond',
      () => {
        throw new Error('down');
      },
    ],
  ])('names issuer and audience, and no binding, if the hub %s', async (_, status) => {
    const { detail, remedy } = await explain(federated, hubWith(status).hub);
    expect(detail).toBe(`tokens issued by the hub, with issuer https://hub.example.com and audience purser:${SERVER}`);
    expect(remedy).not.toContain('discovery');
  });

  it('returns other faults, and those of a stored credential, unchanged and without a review', async () => {
    const { hub, reviews } = hubWith(() => ({ allowed: false }));
    const timeout = { reason: 'Timeout', detail: '' } as const;
    expect(await explainRejection(timeout, federated, hub, new AbortController().signal)).toBe(timeout);
    const stored = { activeServer: SERVER, credential: { type: 'token', token: new Sensitive('t') } } as const;
    expect(await explain(stored, hub)).toBe(REJECTED);
    expect(reviews).toEqual([]);
  });
});
