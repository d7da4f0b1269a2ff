// `purser cluster`: commands for registered clusters, with the kubeconfig of the user.

import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../config/start-error.ts';
import { KubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/kube-config.ts';
import { createTransport } from '../kube/transport.ts';
import { parseDuration } from '../std/duration.ts';
import { withoutTokens } from '../std/sensitive.ts';
import { CommandError, type CommandHost } from './command.ts';
import { type Revocation, revoke } from './revoke.ts';

/** Runs `purser cluster` and returns its exit code; undefined for other commands. Throws a StartError for invalid arguments. */
export async function runClusterCommand([command, ...args]: readonly string[], host: CommandHost): Promise<number | undefined> {
  const isHelp = command === 'help' && args[0] === 'cluster';
  if (command !== 'cluster' && !isHelp) return undefined;
  if (isHelp || args.includes('--help')) {
    host.print(HELP);
    return 0;
  }
  const { name, options } = parseClusterArguments(args);
  const clients: KubeClient[] = [];
  const connect = async (context: string | undefined) => {
    const client = await connectTo(options.kubeconfig, context, host);
    clients.push(client);
    return client;
  };
  try {
    const hub = await connect(options['hub-context']);
    const target = options.context === undefined ? undefined : await connect(options.context);
    const revocation: Revocation = { name, hub, target, timeoutMs: timeoutOf(options.timeout) };
    return await revoke(revocation, host);
  } catch (error) {
    if (error instanceof StartError) throw error;
    host.warn(`purser: ${withoutTokens(error instanceof Error ? error.message : String(error))}\n`);
    return error instanceof CommandError ? error.code : 1;
  } finally {
    for (const client of clients) await client.transport.close();
  }
}

const HELP = `Usage: purser cluster revoke NAME [--context TARGET] [options]

Replaces Purser's credential for a cluster, and revokes all earlier tokens that Purser obtained for it.

Options:
  --context TARGET      also re-create Purser's service account on the target cluster, with this context;
                        this revokes every token of the service account
  --hub-context HUB     context of the hub (default the current context)
  --kubeconfig FILE     kubeconfig with the contexts (default KUBECONFIG, or ~/.kube/config)
  --timeout DURATION    maximum time to wait for Purser (default 2m)
`;

const USAGE = 'usage: purser cluster revoke NAME [--context TARGET] [--hub-context HUB] [--kubeconfig FILE] [--timeout DURATION]';
const OPTIONS = {
  context: { type: 'string' },
  'hub-context': { type: 'string' },
  kubeconfig: { type: 'string' },
  timeout: { type: 'string' },
} as const;
const TIMEOUT_MS = 120_000;
/** Another one than that of the operator, which never writes registered Secrets. */
const FIELD_MANAGER = 'purser-cli';

function parseClusterArguments(args: readonly string[]) {
  const { values, positionals } = parse(args);
  const [command, name, ...rest] = positionals;
  if (command !== 'revoke' || name === undefined || rest.length > 0) throw new StartError(USAGE);
  return { name, options: values };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (cause) {
    throw new StartError(USAGE, { cause });
  }
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined) return TIMEOUT_MS;
  try {
    return parseDuration(text);
  } catch (cause) {
    throw new StartError(`--timeout must be a duration such as 2m, not ${JSON.stringify(text)}`, { cause });
  }
}

/** Returns a client of the cluster of a context; undefined selects the current context. Throws a StartError. */
async function connectTo(kubeconfig: string | undefined, context: string | undefined, { clock, env }: CommandHost): Promise<KubeClient> {
  const paths = kubeconfig ?? (env['KUBECONFIG'] || join(homedir(), '.kube', 'config'));
  try {
    return new KubeClient(createTransport(await loadKubeConfig(paths, context), { clock, execEnv: env }), FIELD_MANAGER);
  } catch (cause) {
    throw new StartError(`cannot use the kubeconfig ${paths}: ${(cause as Error).message}`, { cause });
  }
}
