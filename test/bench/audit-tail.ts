// Follows an API server's audit log, and returns the requests of one user.

import { FileTail } from './file-tail.ts';

/** Completed request. */
export interface AuditedRequest {
  /** Verb and resource, such as `create serviceaccounts/token`. */
  readonly request: string;
  /** `namespace/name` of the object. */
  readonly object: string;
  readonly code: number;
  readonly receivedAt: number;
  readonly respondedAt: number;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

const COMPLETE = 'ResponseComplete';

/** Follows an API server's audit log, and decodes the requests of one user. */
export class AuditTail {
  readonly #log: FileTail;
  readonly #user: string;
  #rest = Buffer.alloc(0);

  constructor(path: string, user: string) {
    this.#log = new FileTail(path);
    this.#user = user;
  }

  /** Returns the requests that completed since the last call. */
  async next(): Promise<readonly AuditedRequest[]> {
    const found: AuditedRequest[] = [];
    await this.#log.read((part) => found.push(...this.#decode(part)));
    return found;
  }

  #decode(bytes: Buffer): readonly AuditedRequest[] {
    const all = Buffer.concat([this.#rest, bytes]);
    const end = all.lastIndexOf(10) + 1;
    this.#rest = all.subarray(end);
    const lines = all.toString('utf8', 0, end).split('\n');
    return lines.filter((line) => this.#mayMatch(line)).flatMap((line) => this.#decodeEvent(JSON.parse(line) as AuditEvent));
  }

  /** Returns true if a line may match. Parsing every line would take CPU time from the measured processes. */
  #mayMatch(line: string): boolean {
    return line.includes(COMPLETE) && line.includes(this.#user);
  }

  #decodeEvent(event: AuditEvent): readonly AuditedRequest[] {
    return event.stage === COMPLETE && event.user.username === this.#user ? [toAuditedRequest(event)] : [];
  }
}

/** Returns the number of requests by verb and resource. */
export function countRequests(audited: readonly AuditedRequest[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { request } of audited) counts[request] = (counts[request] ?? 0) + 1;
  return counts;
}

function toAuditedRequest({
  verb,
  objectRef,
  requestURI,
  responseStatus,
  requestReceivedTimestamp,
  stageTimestamp,
}: AuditEvent): AuditedRequest {
  const { resource, subresource, namespace, name } = objectRef ?? {};
  return {
    request: `${verb} ${resource === undefined ? requestURI.split('?')[0] : [resource, subresource].filter(Boolean).join('/')}`,
    object: [namespace, name].filter(Boolean).join('/'),
    code: responseStatus?.code ?? 0,
    receivedAt: Date.parse(requestReceivedTimestamp),
    respondedAt: Date.parse(stageTimestamp),
  };
}
