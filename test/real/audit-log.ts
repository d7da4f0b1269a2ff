// What an API server's audit log says that somebody asked of it.

import { readFile } from 'node:fs/promises';

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: ObjectRef;
}

interface ObjectRef {
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
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

  /**
   * What was asked for tokens since `skip`, such as `create serviceaccounts/token`: everything but lists, watches, the Lease
   * and what is asked to know the health of clusters.
   */
  async requests(): Promise<readonly string[]> {
    const events = (await this.#all()).slice(this.#lines).map((line) => JSON.parse(line) as AuditEvent);
    return events
      .filter(({ stage, user }) => stage === 'ResponseComplete' && user.username === this.#user)
      .filter(({ verb, objectRef }) => verb !== 'list' && verb !== 'watch' && objectRef !== undefined && !isOther(objectRef))
      .map(({ verb, objectRef }) => `${verb} ${[objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/')}`);
  }

  async #all(): Promise<readonly string[]> {
    return (await readFile(this.#path, 'utf8')).split('\n').filter((line) => line !== '');
  }
}

const OTHER: ReadonlySet<string | undefined> = new Set(['leases', 'selfsubjectreviews', 'selfsubjectaccessreviews', 'clusters']);

/** Events about clusters are in the namespace of all events about cluster-scoped objects. */
function isOther({ resource, namespace }: ObjectRef): boolean {
  return OTHER.has(resource) || (resource === 'events' && namespace === 'default');
}
