// What was asked for, as text: the command, and its options from the command line or else from the environment.

import { parseArgs } from 'node:util';
import { OPTIONS, type Option, type OptionName, optionOf, variableOf } from './options.ts';

/** `run` works on a cluster, `dev` makes a hub and clusters on this machine. */
export type Command = 'run' | 'dev';

export type Env = Readonly<Record<string, string | undefined>>;

/** The text of an option, and where it is from: `--clusters` or `PURSER_CLUSTERS`. */
export interface GivenOption {
  readonly text: string;
  readonly from: string;
}

export interface Given {
  readonly command: Command | undefined;
  /** The last of each on the command line. */
  readonly options: ReadonlyMap<OptionName, GivenOption>;
  readonly problems: readonly string[];
}

/** Reads the command line and the environment; an option on the command line rules over its variable. */
export function readGiven(args: readonly string[], env: Env): Given {
  const command = commandOf(args);
  const { options, problems } = readOptions(command === undefined ? args : args.slice(1));
  return { command, options: new Map([...readVariables(env), ...options]), problems };
}

/** Whether a local run is asked for: by its name or, with no command at all, for want of a cluster. */
export function isLocalRun(args: readonly string[], env: Env): boolean {
  const command = commandOf(args);
  return command === 'dev' || (command === undefined && args[0] !== 'print' && !env['KUBECONFIG']);
}

function commandOf([first]: readonly string[]): Command | undefined {
  return first === 'run' || first === 'dev' ? first : undefined;
}

function readVariables(env: Env): readonly (readonly [OptionName, GivenOption])[] {
  return (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
    const from = variableOf(name);
    const text = env[from];
    return optionOf(name)?.asks || !text || isServiceLink(from, text) ? [] : [[name, { text, from }] as const];
  });
}

/**
 * Whether Kubernetes made a variable, to tell pods of a Service: of one called `purser-metrics` it tells in PURSER_METRICS_PORT,
 * PURSER_METRICS_SERVICE_HOST and others.
 */
export function isServiceLink(name: string, text: string): boolean {
  return SERVICE_ADDRESS.test(text) || SERVICE_VARIABLE.test(name);
}

const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;
const SERVICE_VARIABLE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))$/;

function readOptions(args: readonly string[]): { options: Map<OptionName, GivenOption>; problems: string[] } {
  const types = Object.entries<Option>(OPTIONS).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options = new Map<OptionName, GivenOption>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(`unexpected argument ${JSON.stringify(token.value)}; with npm, options follow after --`);
    if (token.kind !== 'option') continue;
    const problem = problemOf(token);
    if (problem !== undefined) problems.push(problem);
    else options.set(token.name as OptionName, { text: token.value ?? 'true', from: token.rawName });
  }
  return { options, problems };
}

function problemOf({ name, rawName, value, inlineValue }: OptionToken): string | undefined {
  const option = optionOf(name);
  if (option === undefined || rawName !== `--${name}`) return `unknown option ${rawName}`;
  if (option.value === undefined) return value === undefined ? undefined : `${rawName} takes no value`;
  const isMissing = !value || (inlineValue === false && value.startsWith('--'));
  return isMissing ? `${rawName} needs a value: ${rawName} ${option.value}` : undefined;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}
