// An invalid query or Accept header in a list, get or watch request never causes an internal error.

import { describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { FacadeReply } from '../../../src/facade/request.ts';
import { StatusError } from '../../../src/kubernetes/status.ts';
import { scaled } from '../../support/scaled.ts';
import { callerOf, HandHub, Replica, requestOf, settle, WatchStream, writeReply } from './replica.ts';

const PARAMETERS = [
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'watch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'timeoutSeconds',
  'includeObject',
  'export',
  'pretty',
] as const;
const VALUES = [
  '',
  '0',
  '1',
  '-1',
  'true',
  'false',
  'abc',
  '109',
  '999999999999',
  '9223372036854775807',
  '18446744073709551615',
  '18446744073709551616',
  '4611686018427387904',
  '1e3',
  '0x10',
  'Exact',
  'NotOlderThan',
  'None',
  'Object',
  'metadata.name=a',
  'metadata.name!=a',
  'a in (b,c)',
  'a in (',
  '!a,b=c',
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTA5LCJzdGFydCI6ImJcdTAwMDAifQ',
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYiJ9',
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MWU5OSwic3RhcnQiOm51bGx9',
];
const KINDS = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList', 'Cluster', '', 'constructor'];

const value = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...VALUES) }, fc.string({ maxLength: 20, unit: 'binary' }));
const query = fc.array(fc.tuple(fc.constantFrom(...PARAMETERS), value), { maxLength: 5 }).map((pairs) => new URLSearchParams(pairs));
const clause = fc
  .tuple(
    fc.constantFrom('application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', '*/*', 'text/html', '', '/', '*'),
    fc.constantFrom(
      '',
      ...KINDS.map((kind) => `;as=${kind};v=v1;g=meta.k8s.io`),
      ';as=Table',
      ';stream=watch',
      ';q=0',
      ';q=x',
      ';pretty=1',
      ';sv=v2',
    ),
  )
  .map((parts) => parts.join(''));
const accept = fc.option(
  fc.oneof({ weight: 5, arbitrary: fc.array(clause, { minLength: 1, maxLength: 3 }).map((clauses) => clauses.join(',')) }, fc.string()),
  { nil: undefined },
);
const caller = fc.constantFrom(callerOf('admin'), callerOf('alice'), callerOf('unprivileged'));
const name = fc.constantFrom(undefined, 'a', 'b', 'x');

/** Resolves with the result, once time has passed for requests that wait. */
async function passTime<T>(work: Promise<T>, { clock }: Replica): Promise<T> {
  const waiting = new Set([work]);
  const done = Promise.allSettled([work]).finally(() => waiting.delete(work));
  for (await settle(); waiting.size > 0; await settle()) clock.advance(3_000);
  await done;
  return work;
}

/** Returns the status code, after the body has been written. Rejects for an error without a status code. */
async function statusOf(reply: Promise<FacadeReply>, replica: Replica, leave: () => void): Promise<number> {
  try {
    const found = await passTime(reply, replica);
    if (!('write' in found)) return found.status;
    const stream = new WatchStream();
    const written = writeReply(found, stream, replica.clock);
    await settle();
    leave();
    stream.leave();
    await passTime(written, replica);
    return found.status;
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

describe('list, get and watch endpoints', () => {
  it('returns no internal error for an invalid query or Accept header', async () => {
    const hub = new HandHub();
    for (const each of ['a', 'b', 'c']) hub.putCluster(each, { env: 'prod' });
    hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
    hub.grant('alice', ['a', 'c'], { kind: 'User', name: 'alice' });
    const replica = new Replica(hub);
    const property = fc.asyncProperty(query, accept, caller, name, async (parameters, accepted, by, object) => {
      const gone = new AbortController();
      const request = { ...requestOf(parameters.toString(), by), signal: gone.signal };
      const received = { ...request, preferences: { ...request.preferences, accept: accepted } };
      const { list, get } = replica.endpoints;
      const reply = object === undefined ? list(received) : get({ ...received, params: { name: object } });
      const status = await statusOf(reply, replica, () => gone.abort());
      return [200, 400, 404, 406, 410, 422, 504].includes(status);
    });
    await fc.assert(property, { seed: 1_936, numRuns: Number(process.env['PROPERTY_RUNS'] ?? scaled({ full: 1_000, quick: 100 })) });
  }, 300_000);
});
