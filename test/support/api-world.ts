// The embedded API server without a socket: in-memory store, fake clock, and all controllers running.

import { createBootstrapPolicy } from '../../apiserver/access/bootstrap-policy.ts';
import { generateSigningKey, parseSigningKey } from '../../apiserver/access/signing-key.ts';
import { createApi } from '../../apiserver/api.ts';
import { createSystemWriter } from '../../apiserver/controllers/controller.ts';
import { startControllers } from '../../apiserver/controllers/start.ts';
import type { AccessApi } from '../../apiserver/endpoints/endpoint.ts';
import { bootstrapNamespaces } from '../../apiserver/kinds/registry.ts';
import type { Journal, JournalEntry } from '../../apiserver/storage/journal.ts';
import { ObjectStore } from '../../apiserver/storage/object-store.ts';
import type { RequestTarget } from '../../apiserver/verbs/api.ts';
import { createObject } from '../../apiserver/verbs/create.ts';
import { deleteObject } from '../../apiserver/verbs/delete.ts';
import { updateObject } from '../../apiserver/verbs/update.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { DeleteOptions } from '../../src/kubernetes/wire/options.ts';
import { FakeClock } from './clock.ts';
import { TEST_USERS } from './users.ts';

export class ApiWorld {
  readonly clock = new FakeClock();
  readonly api: AccessApi;
  /** Fault injection: `isFull` makes every commit fail. */
  readonly disk = { isFull: false };
  /** Errors that the server reported. */
  readonly faults: unknown[] = [];
  readonly #writer = createSystemWriter('test');

  private constructor(signingKey: ReturnType<typeof parseSigningKey>, stored: readonly Required<JournalEntry>[]) {
    const report = (error: unknown) => void this.faults.push(error);
    const store = new ObjectStore(memoryJournal(stored, this.disk), report);
    this.api = createApi(store, { issuer: 'https://hub.test', signingKey, tokens: TEST_USERS, clock: this.clock, report });
    startControllers(this.api, [...bootstrapNamespaces, ...createBootstrapPolicy()]);
  }

  /** Starts a world, with `stored` as the objects of an earlier run. */
  static async start(stored: readonly Required<JournalEntry>[] = []): Promise<ApiWorld> {
    const world = new ApiWorld(parseSigningKey(generateSigningKey()), stored);
    await world.waitForWrites();
    return world;
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const target = this.#target(object);
    const created = createObject(this.api, target, target.kind.rules.applyDefaults(object), this.#writer);
    await this.waitForWrites();
    return created;
  }

  async update(object: KubeObject): Promise<void> {
    updateObject(this.api, this.#target(object), object, this.#writer);
    await this.waitForWrites();
  }

  async delete(object: KubeObject, options: Partial<DeleteOptions> = {}): Promise<void> {
    deleteObject(this.api, this.#target(object), { dryRun: false, ...options });
    await this.waitForWrites();
  }

  /** Returns the object as stored, or undefined. */
  find(object: KubeObject): KubeObject | undefined {
    const { kind, namespace, name } = this.#target(object);
    const resource = kind.group === '' ? kind.plural : `${kind.group}/${kind.plural}`;
    return this.api.store.get(resource, kind.namespaced ? `${namespace}/${name}` : name);
  }

  /** Advances the clock, and waits for all resulting writes. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.waitForWrites();
  }

  /** Waits until all writes, including those of controllers, are durable. */
  async waitForWrites(): Promise<void> {
    while (!this.api.store.isDurable) await this.api.store.whenDurable();
  }

  #target({ apiVersion, kind: name, metadata }: KubeObject): RequestTarget {
    const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const kind = this.api.registry.findKind(group, version, name);
    if (kind === undefined) throw new Error(`${apiVersion} ${name} is not served`);
    return { kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '', subresource: '' };
  }
}

function memoryJournal(stored: readonly Required<JournalEntry>[], disk: ApiWorld['disk']): Journal {
  const commit = () => {
    if (disk.isFull) throw new Error('database or disk is full');
    return 0;
  };
  return { revision: 1, load: () => stored, commit, readValue: () => undefined, writeValue: (_name, value) => value, close: () => {} };
}
