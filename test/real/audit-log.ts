// Reads the requests of one user from the audit log of an API server.

import { readFile } from 'node:fs/promises';

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: ObjectRef;
}

interface ObjectRef {
  readonly resource?: string;
  readonly subresource?: string;
}

/** Requests of one user since the last call to `skip`. */
export class AuditLog {
  readonly #path: string;
  readonly #user: string;
  #lines = 0;

  constructor(path: string, user: string) {
    this.#path = path;
    this.#user = user;
  }

  /** Ignores all requests so far. */
  async skip(): Promise<void> {
    this.#lines = (await this.#all()).length;
  }

  /** Returns the requests since `skip`, such as `create serviceaccounts/token`, without lists, watches and requests for the Lease. */
  async requests(): Promise<readonly string[]> {
    const events = (await this.#all()).slice(this.#lines).map((line) => JSON.parse(line) as AuditEvent);
    return events
      .filter(({ stage, user }) => stage === 'ResponseComplete' && user.username === this.#user)
      .filter(({ verb, objectRef }) => verb !== 'list' && verb !== 'watch' && objectRef?.resource !== 'leases')
      .map(({ verb, objectRef, requestURI }) => `${verb} ${objectRef?.resource === undefined ? requestURI : nameOf(objectRef)}`);
  }

  /** Returns the requests since `skip` that are not reads. */
  async writes(): Promise<readonly string[]> {
    return (await this.requests()).filter((request) => !request.startsWith('get '));
  }

  async #all(): Promise<readonly string[]> {
    return (await readFile(this.#path, 'utf8')).split('\n').filter((line) => line !== '');
  }
}

function nameOf({ resource, subresource }: ObjectRef): string {
  return [resource, subresource].filter(Boolean).join('/');
}
