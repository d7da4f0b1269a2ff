// What is remembered of each cluster from one look to the next. All instants are on the monotonic clock: setting the other one
// neither puts probes off nor has all of them made at once.

import type { ClusterCondition, ClusterStatus } from '../api/cluster.gen.ts';
import { isSameRegistration, type RegisteredCluster, type Registration, registrationOf } from '../targets/registered-cluster.ts';
import { type Health, rememberedHealth } from './policy/health.ts';
import { HEARTBEAT_GAP_MS, wasSignOfLife } from './policy/heartbeat.ts';
import type { IssuingRights } from './policy/issue-scope.ts';

/** What is known of one cluster. */
export interface Recollection {
  readonly uid: string;
  /** The registration that everything here is about. */
  registration: Registration;
  /** Undefined until the first probe of this registration. */
  health: Health | undefined;
  /** What was found out of identity and rights; undefined until it was. */
  access: IssuingRights | undefined;
  /** Whether the last probe waited for an answer in vain. */
  isHanging: boolean;
  isProbed: boolean;
  /** How often in a row our credential was rejected. */
  rejections: number;
  probeAt: number;
  accessAt: number;
  version: string | undefined;
  activeEndpoint: string | undefined;
  /** As they were last made; what somebody else writes into the status counts for nothing. */
  conditions: readonly ClusterCondition[];
  /** Whether something may have changed that is otherwise not worth a write of its own. */
  isNews: boolean;
  /** When the next sign of life may be written, once that is due. */
  reservedAt: number | undefined;
  /** Whether the last write was a sign of life, and the next one is due a whole period later. */
  isRegular: boolean;
}

/** Connections that are all made at once are all late. */
const FIRST_PROBE_GAP_MS = 8;

/** Remembers clusters by name. */
export class ClusterMemory {
  readonly #clusters = new Map<string, Recollection>();
  #nextWriteAt = -Infinity;
  #nextFirstProbeAt = -Infinity;

  /** What is known of a cluster; of another registration hardly anything. */
  of(registered: RegisteredCluster): Recollection {
    const { name = '', uid = '' } = registered.cluster.metadata;
    const registration = registrationOf(registered);
    const known = this.#clusters.get(name);
    if (known !== undefined && isSameRegistration(known.registration, registration)) return known;
    const recollection = known?.uid === uid ? renewed(known, registration) : begun(uid, registration, registered.cluster.status);
    this.#clusters.set(name, recollection);
    return recollection;
  }

  peek(name: string): Recollection | undefined {
    return this.#clusters.get(name);
  }

  forget(name: string): void {
    this.#clusters.delete(name);
  }

  /** The next instant at which a cluster may be probed that nothing is known of, taken for the caller. */
  reserveFirstProbe(monotonic: number): number {
    const at = Math.max(monotonic, this.#nextFirstProbeAt);
    this.#nextFirstProbeAt = at + FIRST_PROBE_GAP_MS;
    return at;
  }

  /** The next instant at which a sign of life may be written, taken for the caller. */
  reserveWrite(monotonic: number): number {
    const at = Math.max(monotonic, this.#nextWriteAt);
    this.#nextWriteAt = at + HEARTBEAT_GAP_MS;
    return at;
  }
}

/** Of a cluster that we have a status of, that is gone on with: nothing has to be found out in a hurry. */
function begun(uid: string, registration: Registration, status: ClusterStatus = {}): Recollection {
  const { version, activeEndpoint, conditions = [] } = status;
  const health = rememberedHealth(conditions);
  const known = { version, activeEndpoint, conditions, health };
  return { ...fresh(uid, registration), ...known, isNews: health === undefined, isRegular: wasSignOfLife(status) };
}

function renewed({ uid, version, conditions }: Recollection, registration: Registration): Recollection {
  return { ...fresh(uid, registration), version, conditions };
}

function fresh(uid: string, registration: Registration): Recollection {
  return {
    uid,
    registration,
    health: undefined,
    access: undefined,
    isHanging: false,
    isProbed: false,
    rejections: 0,
    probeAt: -Infinity,
    accessAt: -Infinity,
    version: undefined,
    activeEndpoint: undefined,
    conditions: [],
    isNews: true,
    reservedAt: undefined,
    isRegular: false,
  };
}
