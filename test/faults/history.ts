// What happened in a run, as JSON lines: faults, requests, samples of every token. Checked when the run is over.

import { createWriteStream, type WriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Relayed } from './proxy/http-relay.ts';

/** What TokenReview on the target said of the token in a Secret. */
export type Verdict = 'accepted' | 'refused' | 'unreachable' | 'none';

/** A ManagedToken and its Secret at one moment. Token texts are never recorded. */
export interface Sample {
  readonly type: 'sample';
  readonly token: string;
  readonly uid: string;
  readonly cluster: string;
  readonly generation: number;
  readonly observedGeneration: number;
  /** Status of the condition Ready; `unknown` while the hub does not say. */
  readonly ready: string;
  readonly reason: string;
  readonly readySince: string;
  readonly failing: string;
  readonly verdict: Verdict;
  readonly secret?: SecretSample;
}

export interface SecretSample {
  readonly uid: string;
  /** The beginning of a digest of the token; absent when there is no token. */
  readonly digest?: string;
  /** From the token itself. */
  readonly expiresAt: number;
  readonly issuedAt: number;
  /** When Purser means to renew it. */
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
  | 'I18';

/** Service accounts that a tenant may have tokens for: one, or all of a namespace, on one cluster of the bench. */
export interface Reach {
  readonly place: string;
  readonly namespace: string;
  /** Absent: every service account of the namespace. */
  readonly account?: string;
}

/** A cluster of the bench that accepts a token, and the user that it stands for there. */
export interface Acceptance {
  readonly place: string;
  readonly username: string;
}

/** Phases of the tenant bench. */
export type Phase = 'calm' | 'attack' | 'after' | 'over';

/** What a run records; `at` is added. */
export type Entry =
  | Sample
  | ({ readonly type: 'request' } & Relayed)
  /** A fault begins, on the hub, on a target or on Purser itself. */
  | { readonly type: 'begin'; readonly fault: string; readonly on: string }
  /** A fault is over; everything is well again; its row is complete. */
  | { readonly type: 'heal'; readonly fault: string }
  | { readonly type: 'recovered'; readonly fault: string }
  | { readonly type: 'end'; readonly fault: string }
  /** What the random schedule does next. */
  | { readonly type: 'step'; readonly what: string }
  /** A proxy treats connections or bytes otherwise from now on. */
  | { readonly type: 'wire'; readonly server: string; readonly isFaulty: boolean }
  /** Somebody did something that asks for a new token, once; `*` is all of them. */
  | { readonly type: 'cause'; readonly token: string; readonly why: string }
  /** What happens to the token until then is the fault's doing, not Purser's. */
  | {
      readonly type: 'excuse';
      readonly token: string;
      readonly invariants: readonly Invariant[];
      readonly untilAt: number;
      readonly why: string;
    }
  /** Whether the token is allowed from now on. */
  | { readonly type: 'grant'; readonly token: string; readonly allowed: boolean }
  /** Between these two Purser has nothing to write. */
  | { readonly type: 'quiet'; readonly begins: boolean }
  /** A process of Purser starts or ends; `crash` may cost one issuance of each token. */
  | { readonly type: 'process'; readonly what: 'start' | 'crash' | 'stop' | 'pause' | 'resume'; readonly pid: number }
  /** The tenant bench enters a phase. */
  | { readonly type: 'phase'; readonly phase: Phase }
  /** Everything that a tenant may have from now on. */
  | { readonly type: 'authority'; readonly holder: string; readonly reach: readonly Reach[] }
  /** A token that a hostile tenant got. */
  | {
      readonly type: 'held';
      readonly holder: string;
      readonly source: 'facade' | 'secret';
      readonly digest: string;
      readonly acceptedBy: readonly Acceptance[];
      readonly audiences: readonly string[];
      /** Audiences of the request; absent where the bench does not know the request. */
      readonly requested?: readonly string[];
      readonly issuedAt: number;
      readonly expiresAt: number;
    }
  /** A text that a hostile tenant read, and that names something that the tenant does not know. */
  | { readonly type: 'disclosure'; readonly holder: string; readonly where: string; readonly named: readonly string[] }
  /** A token that reached the attacker's server. */
  | {
      readonly type: 'received';
      readonly path: string;
      readonly digest: string;
      readonly acceptedBy: readonly Acceptance[];
      /** Whether Purser issued it, or it is Purser's own. */
      readonly isIssued: boolean;
    }
  /** A credential of Purser, and the cluster that it is for. */
  | { readonly type: 'credential'; readonly place: string; readonly digest: string }
  /** Addresses and CAs that the administrator pinned for a Cluster. */
  | { readonly type: 'pins'; readonly cluster: string; readonly servers: readonly string[]; readonly cas: readonly string[] }
  /** Addresses and CAs next to the token in a polite tenant's Secret. */
  | {
      readonly type: 'written';
      readonly token: string;
      readonly cluster: string;
      readonly servers: readonly string[];
      readonly cas: readonly string[];
    }
  /** A rotation that a polite tenant requested: time until the Secret held the new token, or until the bench stopped waiting. */
  | { readonly type: 'rotation'; readonly token: string; readonly tookMs: number; readonly isDone: boolean }
  /** The bench's own requests that a rotation needs, past Purser: how slow machine, hub and target are by themselves. */
  | { readonly type: 'control'; readonly tookMs: number }
  /** A polite caller's request for a token at the façade. */
  | { readonly type: 'call'; readonly status: number; readonly tookMs: number }
  /** A TokenReview of a revocable token whose permission was withdrawn. */
  | { readonly type: 'review'; readonly token: string; readonly digest: string; readonly verdict: Verdict }
  /** Size of what Purser publishes: metric series, and log lines of level error. */
  | { readonly type: 'footprint'; readonly series: number; readonly errorLines: number }
  | { readonly type: 'usage'; readonly pid: number; readonly rssMegabytes: number; readonly handles: number }
  /** What a scenario expected did not come. */
  | { readonly type: 'violation'; readonly invariant: Invariant; readonly token?: string; readonly message: string };

export type Recorded = Entry & { readonly at: number };

/** Entries of one type. */
export type Of<T extends Entry['type']> = Extract<Recorded, { readonly type: T }>;

/** Keeps a history in memory and on disk. */
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

/** The history in a file. */
export async function readHistory(path: string): Promise<readonly Recorded[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Recorded);
}

/** The entries of a type, in order. */
export function ofType<T extends Entry['type']>(history: readonly Recorded[], type: T): readonly Of<T>[] {
  return history.filter((entry): entry is Of<T> => entry.type === type);
}
