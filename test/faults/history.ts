// History of a run as JSON lines: faults, requests and samples of every token. The checks run after the run.

import { createWriteStream, type WriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Relayed } from './proxy/http-relay.ts';

/** Result of the TokenReview for the token in a Secret; `none` without a token. */
export type Verdict = 'accepted' | 'rejected' | 'unreachable' | 'none';

/** State of a ManagedToken and its Secret. Tokens themselves are never recorded. */
export interface Sample {
  readonly type: 'sample';
  readonly token: string;
  readonly uid: string;
  readonly cluster: string;
  readonly generation: number;
  readonly observedGeneration: number;
  /** Status of the Ready condition; `unknown` while the hub does not respond. */
  readonly ready: string;
  readonly reason: string;
  readonly readySince: string;
  readonly failing: string;
  readonly verdict: Verdict;
  readonly secret?: SecretSample;
}

export interface SecretSample {
  readonly uid: string;
  /** Digest of the token; absent without a token. */
  readonly digest?: string;
  /** Expiry in the claims of the token, as epoch milliseconds. */
  readonly expiresAt: number;
  readonly issuedAt: number;
  /** Scheduled renewal, as epoch milliseconds. */
  readonly renewAt: number;
}

export type Invariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I12'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'
  | 'I18'
  | 'I19'
  | 'I20'
  | 'I21'
  | 'I22'
  | 'I23';

/** Service accounts for which a tenant may hold tokens: one, or all of a namespace, on one cluster of the bench. */
export interface Reach {
  readonly cluster: string;
  readonly namespace: string;
  /** Name of one service account; absent: all of the namespace. */
  readonly account?: string;
}

/** Objects that a tenant may see in lists of the façade: one, or all of a namespace. */
export interface Sight {
  /** Plural name. */
  readonly resource: string;
  readonly namespace: string;
  /** Name of one object; absent: all of the namespace. */
  readonly name?: string;
}

/** Object in a response from the façade. */
export interface SeenObject extends Sight {
  readonly name: string;
}

/** Cluster of the bench that accepts a token, and the user name in its TokenReview. */
export interface Acceptance {
  readonly cluster: string;
  readonly username: string;
}

/** Phases of the hostile-tenant bench. */
export type Phase = 'calm' | 'attack' | 'after' | 'over';

/** Entry of the history, without its time. */
export type Entry =
  | Sample
  | ({ readonly type: 'request' } & Relayed)
  /** Start of a fault of the hub, a target or Purser. */
  | { readonly type: 'begin'; readonly fault: string; readonly on: string }
  /** End of a fault, recovery of all tokens, and end of the scenario. */
  | { readonly type: 'heal'; readonly fault: string }
  | { readonly type: 'recovered'; readonly fault: string }
  | { readonly type: 'end'; readonly fault: string }
  /** Action of the random schedule or of a hostile tenant. */
  | { readonly type: 'step'; readonly description: string }
  /** Change to the fault mode of a proxy. */
  | { readonly type: 'wire'; readonly server: string; readonly isFaulty: boolean }
  /** Event that allows one new token; `*` stands for all tokens. */
  | { readonly type: 'cause'; readonly token: string; readonly reason: string }
  /** Effect of a fault that the checks of these invariants ignore until `untilAt`. */
  | {
      readonly type: 'excuse';
      readonly token: string;
      readonly invariants: readonly Invariant[];
      readonly untilAt: number;
      readonly reason: string;
    }
  /** Permission of a token from now on. */
  | { readonly type: 'grant'; readonly token: string; readonly allowed: boolean }
  /** Start or end of a period in which Purser has nothing to write. */
  | { readonly type: 'quiet'; readonly begins: boolean }
  /** Start or end of a process of Purser; a crash allows one more issuance of each token. */
  | { readonly type: 'process'; readonly event: 'start' | 'crash' | 'stop' | 'pause' | 'resume'; readonly pid: number }
  /** Start of a phase of the hostile-tenant bench. */
  | { readonly type: 'phase'; readonly phase: Phase }
  /** Permissions of a tenant from now on. */
  | { readonly type: 'authority'; readonly holder: string; readonly reach: readonly Reach[] }
  /** Token that a hostile tenant obtained. */
  | {
      readonly type: 'held';
      readonly holder: string;
      readonly source: 'facade' | 'secret';
      readonly digest: string;
      readonly acceptedBy: readonly Acceptance[];
      readonly audiences: readonly string[];
      /** Audiences in the request; absent if the bench does not know the request. */
      readonly requested?: readonly string[];
      readonly issuedAt: number;
      readonly expiresAt: number;
    }
  /** Objects that RBAC lets a tenant see through the façade from now on. */
  | { readonly type: 'sight'; readonly holder: string; readonly sights: readonly Sight[] }
  /** Objects in a response from the façade to a tenant, and the time of the request. */
  | { readonly type: 'shown'; readonly holder: string; readonly sentAt: number; readonly objects: readonly SeenObject[] }
  /** Text that discloses something hidden to a hostile tenant. */
  | { readonly type: 'disclosure'; readonly holder: string; readonly where: string; readonly named: readonly string[] }
  /** Token that reached the attacker's server. */
  | {
      readonly type: 'received';
      readonly path: string;
      readonly digest: string;
      readonly acceptedBy: readonly Acceptance[];
      /** True for tokens that Purser issued, and for Purser's credentials. */
      readonly isIssued: boolean;
    }
  /** Credential of Purser, and the cluster that it belongs to. */
  | { readonly type: 'credential'; readonly cluster: string; readonly digest: string }
  /** Renewed credential that a thief found in its Secret on a hub; `holder` names the hub and the Cluster. */
  | { readonly type: 'renewal'; readonly holder: string; readonly digest: string; readonly expiresAt: number }
  /** Response from a cluster to a thief that presents a renewed credential. */
  | {
      readonly type: 'theft';
      readonly cluster: string;
      readonly digest: string;
      readonly verdict: Exclude<Verdict, 'none'>;
      /** Time at which the credential was last in use, or first seen if no Secret contained it; undefined while it is in use. */
      readonly replacedAt?: number;
    }
  /** State of a ManagedTokenSet: the Clusters with a ManagedToken, and those with a token in the Secret. */
  | {
      readonly type: 'fleet';
      readonly fleet: string;
      readonly clusters: readonly string[];
      readonly held: readonly string[];
      readonly isPaused: boolean;
    }
  /** Clusters that the requester of a ManagedTokenSet may issue for from now on. */
  | { readonly type: 'allowance'; readonly fleet: string; readonly clusters: readonly string[] }
  /** Clusters whose ManagedTokens the administrator lets a ManagedTokenSet remove. */
  | { readonly type: 'confirmation'; readonly fleet: string; readonly clusters: readonly string[] }
  /** Start or end of faults in the benches of renewals and of sets. */
  | { readonly type: 'disturbance'; readonly begins: boolean }
  /** Addresses and CAs that the administrator pinned for a Cluster. */
  | { readonly type: 'pins'; readonly cluster: string; readonly servers: readonly string[]; readonly cas: readonly string[] }
  /** Addresses and CAs next to the token in a well-behaved tenant's Secret. */
  | {
      readonly type: 'written';
      readonly token: string;
      readonly cluster: string;
      readonly servers: readonly string[];
      readonly cas: readonly string[];
    }
  /** Rotation that a well-behaved tenant requested: time until the Secret contained the new token, or until the limit. */
  | { readonly type: 'rotation'; readonly token: string; readonly tookMs: number; readonly isDone: boolean }
  /** Time of the requests of a rotation when the bench sends them without Purser. */
  | { readonly type: 'control'; readonly tookMs: number }
  /** Token request of a well-behaved caller of the façade. */
  | { readonly type: 'call'; readonly status: number; readonly tookMs: number }
  /** TokenReview of a revocable token whose permission was withdrawn. */
  | { readonly type: 'review'; readonly token: string; readonly digest: string; readonly verdict: Verdict }
  /** Number of metric series without those of each ManagedToken, and of log lines of level error. */
  | { readonly type: 'footprint'; readonly series: number; readonly errorLines: number }
  | { readonly type: 'usage'; readonly pid: number; readonly rssMegabytes: number; readonly handles: number }
  /** Violation that a scenario detected itself. */
  | { readonly type: 'violation'; readonly invariant: Invariant; readonly token?: string; readonly message: string };

export type Recorded = Entry & { readonly at: number };

/** Recorded entries of one type. */
export type Of<T extends Entry['type']> = Extract<Recorded, { readonly type: T }>;

/** Keeps the history in memory and in a file. */
export class History {
  readonly entries: Recorded[] = [];
  readonly #file: WriteStream;

  constructor(path: string) {
    this.#file = createWriteStream(path);
  }

  add(entry: Entry): void {
    const recorded: Recorded = { at: Date.now(), ...entry };
    this.entries.push(recorded);
    this.#file.write(`${JSON.stringify(recorded)}\n`);
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#file.end(resolve));
  }
}

/** Reads a history file. */
export async function readHistory(path: string): Promise<readonly Recorded[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Recorded);
}

/** Returns the entries of a type, in order. */
export function ofType<T extends Entry['type']>(history: readonly Recorded[], type: T): readonly Of<T>[] {
  return history.filter((entry): entry is Of<T> => entry.type === type);
}
