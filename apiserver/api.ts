// State and services that all endpoints share.

import { randomInt } from 'node:crypto';
import { versionTooLarge } from '../src/kubernetes/list-revision.ts';
import { type Clock, sleep } from '../src/std/clock.ts';
import { createStoredPolicy, type ObjectSource } from './access/policy.ts';
import type { SigningKey } from './access/signing-key.ts';
import type { TrustedTokenVerifier } from './access/trusted-issuer.ts';
import type { User } from './access/user.ts';
import type { AccessApi } from './endpoints/endpoint.ts';
import { customResourceDefinitionKind } from './kinds/definition.ts';
import { toResource } from './kinds/kind.ts';
import { builtInKinds, KindRegistry } from './kinds/registry.ts';
import { ALL_RESOURCES, type ObjectStore } from './storage/object-store.ts';

export interface ApiOptions {
  readonly issuer: string;
  readonly signingKey: SigningKey;
  readonly tokens: ReadonlyMap<string, User>;
  /** Verifier of another cluster's tokens; absent if no issuer is trusted. */
  readonly trusted?: TrustedTokenVerifier | undefined;
  readonly clock: Clock;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

/** Characters of the suffix of generated names, without vowels (which could form words) and without look-alike characters. */
const NAME_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789';
/** Maximum time that a request waits for a future revision, in milliseconds. */
const REVISION_WAIT_MS = 3_000;

export function createApi(store: ObjectStore, { issuer, signingKey, tokens, trusted, clock, report }: ApiOptions): AccessApi {
  const registry = new KindRegistry([...builtInKinds, customResourceDefinitionKind]);
  const objects = createObjectSource(store);
  const policy = createStoredPolicy(objects);
  const audiences = [issuer];
  const tokenIssuer = { issuer, key: signingKey, audiences, objects };
  const startedAt = store.revision;
  const servedSince = new Map<string, number>();
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (error) {
      report(error);
    }
  };
  return {
    now: () => clock.now(),
    // An error thrown in a timer would end the process.
    wakeAt: (at, wake) => clock.wakeAt(at, () => attempt(wake)),
    attempt,
    store,
    registry,
    policy,
    authenticators: { staticTokens: tokens, serviceAccounts: tokenIssuer, trusted, audiences },
    tokenIssuer,
    random: Math.random,
    nameSuffix: () => Array.from({ length: 5 }, () => NAME_CHARACTERS[randomInt(NAME_CHARACTERS.length)]).join(''),
    waitForRevision: (revision) => waitForRevision(store, clock, revision),
    serve(group, plural, kind) {
      const resource = toResource({ group, plural });
      if (registry.findByResource(resource) === undefined) servedSince.set(resource, store.revision);
      registry.set(group, plural, kind);
    },
    watchableSince: (kind) => servedSince.get(toResource(kind)) ?? startedAt,
  };
}

/** Returns the object store as the source of objects for access control. */
function createObjectSource(store: ObjectStore): ObjectSource {
  return {
    get: (group, plural, namespace, name) => store.get(toResource({ group, plural }), namespace === '' ? name : `${namespace}/${name}`),
    list: (group, plural, namespace) => store.list(toResource({ group, plural }), namespace),
  };
}

async function waitForRevision(store: ObjectStore, clock: Clock, revision: number): Promise<void> {
  const done = new AbortController();
  const unsubscribe = store.subscribe(ALL_RESOURCES, (change) => {
    if (change.revision >= revision) done.abort();
  });
  try {
    await sleep(clock, REVISION_WAIT_MS, done.signal).catch(() => {});
  } finally {
    unsubscribe();
  }
  if (!done.signal.aborted) throw versionTooLarge(revision, store.revision);
}
