// An issuer and its targets on real TLS sockets, with a simulated clock.

import { inspect } from 'node:util';
import { expect } from '@jest/globals';
import type { TargetSettings } from '../../src/targets/create-target.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import type { Grant, TargetTokenRequest } from '../../src/targets/policy/grant.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { Issuing } from './issuing.ts';
import { type RawResponder, type RawTarget, startRawTarget } from './raw-target.ts';
import { CREDENTIAL, registered, settings } from './registration.ts';
import { authority, REQUEST, startTarget, TOKEN_PATH } from './wire-target.ts';

export class IssuerWorld {
  /** Simulated clock of the issuer; targets use the system clock. */
  readonly clock = new FakeClock(Date.now());
  readonly issuer: Issuing;
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(more: Partial<TargetSettings> = {}) {
    this.issuer = new Issuing(settings(this.clock, more));
  }

  async serve(handler: WireHandler, names?: readonly string[]): Promise<WireServer> {
    const server = await startTarget(handler, names);
    this.#closing.push(() => server.close());
    return server;
  }

  async serveRaw(respond: RawResponder): Promise<RawTarget> {
    const target = await startRawTarget(respond);
    this.#closing.push(() => target.close());
    return target;
  }

  issue(cluster: RegisteredCluster, request: TargetTokenRequest = REQUEST, signal = new AbortController().signal): Promise<Grant> {
    return this.issuer.issue(cluster, request, signal);
  }

  /** Requests a token from the target at this address, registered as a cluster. */
  issueAt({ url }: { readonly url: string }, request: TargetTokenRequest = REQUEST, signal?: AbortSignal): Promise<Grant> {
    return this.issue(clusterAt(url), request, signal);
  }

  /** Returns the error of a request; advances the clock after `started`, if given. Also checks that the error contains no secret. */
  async failure(cluster: RegisteredCluster, request: TargetTokenRequest = REQUEST, started?: () => void): Promise<IssueError> {
    let failed: unknown;
    void this.issue(cluster, request)
      .then(() => new Error('a token was issued'))
      .catch((error: unknown) => error)
      .then((error) => (failed = error));
    if (started !== undefined) await eventually(started);
    await eventually(() => expect(failed).toBeDefined(), started && this.clock);
    if (!(failed instanceof IssueError)) throw failed;
    const shown = inspect(failed, { depth: 20, showHidden: true }) + JSON.stringify(failed);
    expect(shown).not.toContain(CREDENTIAL);
    expect(shown).not.toMatch(/eyJ[\w-]{20}/);
    expect(failed.message.length).toBeLessThan(400);
    expect(failed.message).not.toMatch(/[\p{C}\n]/u);
    return failed;
  }

  failureAt({ url }: { readonly url: string }, request: TargetTokenRequest = REQUEST, started?: () => void): Promise<IssueError> {
    return this.failure(clusterAt(url), request, started);
  }

  async close(): Promise<void> {
    await this.issuer.close();
    for (const close of this.#closing.reverse()) await close();
  }
}

/** Returns a cluster with this address only. */
export function clusterAt(url: string): RegisteredCluster {
  return registered({ uid: url, servers: [url], ca: authority.certificate });
}

/** Returns the token requests. */
export function tokenRequests(server: WireServer): WireServer['requests'] {
  return server.requests.filter(({ path }) => path === TOKEN_PATH);
}

/** Returns the connections that carried a request. */
export function connectionsOf(server: WireServer): ReadonlySet<number> {
  return new Set(server.requests.map(({ connection }) => connection));
}
