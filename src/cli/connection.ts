// Connections of a command to the clusters in the user's kubeconfig.

import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { StartError } from '../config/start-error.ts';
import { KubeClient } from '../kube/client.ts';
import { type ContextServer, type Contexts, credentialFilesOf, loadKubeConfig, readContexts, readServer } from '../kube/kube-config.ts';
import { createTransport } from '../kube/transport.ts';
import { normalizeServer } from '../targets/policy/registration.ts';
import type { Peer } from './cluster/peer.ts';
import type { CommandHost } from './command.ts';

/**
 * Opens clients for contexts of one kubeconfig, and closes them on disposal: `await using connections = new Connections(host, kubeconfig)`.
 */
export class Connections implements AsyncDisposable {
  readonly #host: CommandHost;
  /** Value of `--kubeconfig`. */
  readonly #kubeconfig: string | undefined;
  readonly #paths: string;
  readonly #clients: KubeClient[] = [];

  /**
   * `kubeconfig` is the value of `--kubeconfig`; undefined selects KUBECONFIG, or else kubectl's default file. Throws a StartError if that
   * file is needed and HOME is not absolute: a kubeconfig in the current folder could run any program as a credential plugin.
   */
  constructor(host: CommandHost, kubeconfig: string | undefined) {
    this.#host = host;
    this.#kubeconfig = kubeconfig;
    this.#paths = kubeconfig ?? (host.env['KUBECONFIG'] || resolveDefaultFile());
  }

  /**
   * Returns a client for the cluster of `context`; undefined means the current context. Throws a StartError if the kubeconfig is unusable.
   */
  async open(context: string | undefined): Promise<KubeClient> {
    const { clock, env } = this.#host;
    return await this.#use(async (paths) => {
      const client = new KubeClient(createTransport(await loadKubeConfig(paths, context), { clock, execEnv: env }), FIELD_MANAGER);
      this.#clients.push(client);
      return client;
    });
  }

  /** Opens a client for the hub or a target cluster, as `open` does. */
  async openPeer(role: Peer['role'], context: string | undefined): Promise<Peer> {
    return { role, context, kubeconfig: this.#kubeconfig, client: await this.open(context) };
  }

  /**
   * Returns the API server of `context`; undefined means the current context. Sends no request. Throws a StartError if the kubeconfig is
   * unusable.
   */
  async readServer(context: string | undefined): Promise<ContextServer> {
    return await this.#use(async (paths) => await readServer(await loadKubeConfig(paths, context)));
  }

  /**
   * Returns the first context whose API server has one of the addresses; undefined if there is none. Sends no request. Throws a StartError
   * if the kubeconfig is unusable.
   */
  async findContext(addresses: readonly string[]): Promise<string | undefined> {
    const wanted = new Set(addresses.map(normalizeServer));
    for (const { name } of (await this.readContexts()).contexts) {
      // An unusable context must not end the search.
      const server = await this.readServer(name).catch(() => undefined);
      if (server !== undefined && wanted.has(normalizeServer(server.server))) return name;
    }
    return undefined;
  }

  /** Returns the contexts of the kubeconfig. Throws a StartError if the kubeconfig is unusable. */
  async readContexts(): Promise<Contexts> {
    return await this.#use(readContexts);
  }

  /**
   * Returns the namespace of `context`, or `default` if the context has none; an undefined `context` means the current context. Throws a
   * StartError if the kubeconfig is unusable.
   */
  async readNamespace(context: string | undefined): Promise<string> {
    const { current, contexts } = await this.readContexts();
    return contexts.find(({ name }) => name === (context ?? current))?.namespace || 'default';
  }

  /** Returns the absolute paths of the kubeconfig files. */
  get files(): readonly string[] {
    return this.#paths
      .split(delimiter)
      .filter((path) => path !== '')
      .map((path) => resolve(path));
  }

  /**
   * Returns the kubeconfig files, and the files that the credential of `context` refers to; undefined means the current context. Throws a
   * StartError if the kubeconfig is unusable.
   */
  async findCredentialFiles(context: string | undefined): Promise<readonly string[]> {
    const source = await this.#use((paths) => loadKubeConfig(paths, context));
    return [...this.files, ...credentialFilesOf(source)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.transport.close();
  }

  async #use<T>(action: (paths: string) => Promise<T>): Promise<T> {
    try {
      return await action(this.#paths);
    } catch (cause) {
      const { message } = cause as Error;
      // A message that ends with a suggestion, such as `did you mean "prod"?`, needs no other remedy.
      const remedy = message.endsWith('?') ? '' : '. Correct the kubeconfig, or set --kubeconfig';
      throw new StartError(`cannot use the kubeconfig ${this.#paths}: ${message}${remedy}`, { cause });
    }
  }
}

function resolveDefaultFile(): string {
  const home = homedir();
  if (!isAbsolute(home)) throw new StartError('no kubeconfig: HOME is not an absolute path. Set HOME, KUBECONFIG or --kubeconfig');
  return join(home, '.kube', 'config');
}

/** Field manager of commands. It differs from the operator's: commands write registered Secrets, but the operator never does. */
const FIELD_MANAGER = 'purser-cli';
