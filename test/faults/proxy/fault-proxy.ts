// Fault proxy in front of one API server: TCP faults on the client's side, HTTP faults behind them.

import type { Certificate } from '../../../src/std/x509/certificates.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import { HttpRelay, type Relayed, type RelayOptions } from './http-relay.ts';
import { type Action, type Matcher, type Rule, Rules } from './rules.ts';
import { type TcpMode, TcpRelay, type TrafficShape } from './tcp-relay.ts';

export interface ProxyOptions {
  readonly name: string;
  readonly upstream: RelayOptions['upstream'];
  readonly onRelayed: (relayed: Relayed) => void;
  readonly onBearer: RelayOptions['onBearer'];
  /** Called when connections or traffic become faulty or normal. */
  readonly onWire: (isFaulty: boolean) => void;
}

/** DNS name in every proxy's certificate, for tests of name resolution. */
export const TARGET_NAME = 'target.purser.test';
const NAMES = [...LOOPBACK_NAMES, TARGET_NAME];

/** Proxy whose faults change while it runs; clients must trust `ca`. */
export class FaultProxy {
  readonly #front: TcpRelay;
  readonly #relay: HttpRelay;
  readonly #rules: Rules;
  readonly #options: RelayOptions & ProxyOptions;
  #authority: Certificate;

  private constructor(parts: { front: TcpRelay; relay: HttpRelay; options: RelayOptions & ProxyOptions; authority: Certificate }) {
    this.#front = parts.front;
    this.#relay = parts.relay;
    this.#options = parts.options;
    this.#rules = parts.options.rules;
    this.#authority = parts.authority;
  }

  static async start(proxy: ProxyOptions): Promise<FaultProxy> {
    const authority = createAuthority(Date.now());
    const options = { ...proxy, rules: new Rules(), certificate: issueServerCertificate(authority, NAMES, Date.now()) };
    const relay = await HttpRelay.listen(options);
    return new FaultProxy({ front: await TcpRelay.listen(relay.port), relay, options, authority });
  }

  get url(): string {
    return `https://127.0.0.1:${this.#front.port}`;
  }

  get port(): number {
    return this.#front.port;
  }

  get ca(): string {
    return this.#authority.certificate;
  }

  /** Sets the fault mode of connections. */
  setTcpMode(mode: TcpMode): Promise<void> {
    this.#options.onWire(mode !== 'pass');
    return this.#front.setMode(mode);
  }

  /** Sets the delay, rate and length of connections. */
  shapeTraffic(shape: TrafficShape): void {
    this.#options.onWire(Object.keys(shape).length > 0);
    this.#front.shapeTraffic(shape);
  }

  /** Applies an action to requests that match, at most `times` times. */
  addRule(match: Matcher, action: Action, times?: number): Rule {
    return this.#rules.add(match, action, times);
  }

  /** Presents another certificate, of the same CA or of a new one. */
  rotateCertificate(by: 'same authority' | 'new authority'): void {
    if (by === 'new authority') this.#authority = createAuthority(Date.now());
    this.#relay.setCertificate(issueServerCertificate(this.#authority, NAMES, Date.now()));
  }

  /** Drops connections to the API server; call it after a restart of the server. */
  reconnectUpstream(): void {
    this.#relay.reconnect(this.#options);
  }

  /** Ends all faults. */
  async heal(): Promise<void> {
    this.#rules.clear();
    this.shapeTraffic({});
    await this.setTcpMode('pass');
  }

  async close(): Promise<void> {
    await this.#front.close();
    await this.#relay.close();
  }
}
