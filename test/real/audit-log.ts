// What an API server's audit log says that somebody asked of it.

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

/** Reads from where it was last read. */
export class AuditLog {
  readonly #path: string;
  readonly #user: string;
  #lines = 0;

  /** The requests of this user. */
  constructor(path: string, user: string) {
    this.#path = path;
    this.#user = user;
  }

  /** Forgets what was asked so far. */
  async skip(): Promise<void> {
    this.#lines = (await this.#all()).length;
  }

  /** Everything that was asked since `skip`, such as `create serviceaccounts/token`, but for lists, watches and the Lease. */
  async requests(): Promise<readonly string[]> {
    const events = (await this.#all()).slice(this.#lines).map((line) => JSON.parse(line) as AuditEvent);
    return events
      .filter(({ stage, user }) => stage === 'ResponseComplete' && user.username === this.#user)
      .filter(({ verb, objectRef }) => verb !== 'list' && verb !== 'watch' && objectRef?.resource !== 'leases')
      .map(({ verb, objectRef, requestURI }) => `${verb} ${objectRef?.resource === undefined ? requestURI : nameOf(objectRef)}`);
  }

  /** Those of them that may change something. */
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
