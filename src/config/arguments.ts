// The command and the option texts, read from the command line and the environment.

import { parseArgs } from 'node:util';
import { editDistance } from '../std/edit-distance.ts';
import { OPTIONS, type Option, type OptionName, optionOf, variableOf } from './options.ts';

/** `run` runs Purser on a cluster; `dev` runs Purser, a hub and target clusters on this machine. */
export type Command = 'run' | 'dev';

export type Env = Readonly<Record<string, string | undefined>>;

/** Text of an option and its source, for example `--clusters` or `PURSER_CLUSTERS`. */
export interface OptionText {
  readonly text: string;
  readonly source: string;
}

/** The parsed command line and environment. */
export interface Arguments {
  readonly command: Command | undefined;
  /** Options that are set; the last occurrence on the command line applies. */
  readonly options: ReadonlyMap<OptionName, OptionText>;
  readonly problems: readonly string[];
}

/** Reads the command line and the environment; an option on the command line overrides its variable. */
export function readArguments(args: readonly string[], env: Env): Arguments {
  const [first = '', ...rest] = args;
  const printed = PRINTING.find((name) => name === first);
  if (printed !== undefined) return readArguments([...rest, `--${printed}`], {});
  const command = commandOf(first);
  const { options, problems } = readOptions(command === undefined ? args : rest);
  return { command, options: new Map([...readVariables(env), ...options]), problems };
}

/** Returns whether the arguments start a local run, which is the default; a cluster is never selected by KUBECONFIG alone. */
export function isLocalRun([first = '', second = '']: readonly string[]): boolean {
  const command = first === 'help' ? second : first;
  return command !== 'run' && command !== 'print' && command !== 'cluster';
}

const COMMANDS = ['run', 'dev'] as const;
/** Options that are also commands: `purser help run` is the same as `purser run --help`. */
const PRINTING = ['help', 'version'] as const;

function commandOf(name: string): Command | undefined {
  return COMMANDS.find((command) => command === name);
}

function readVariables(env: Env): readonly (readonly [OptionName, OptionText])[] {
  return (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
    const source = variableOf(name);
    const text = env[source];
    return optionOf(name)?.printsAndExits || !text || isServiceLink(source, text) ? [] : [[name, { text, source }] as const];
  });
}

/**
 * Returns whether Kubernetes set a variable as a service link: for a Service `purser-metrics`, pods have PURSER_METRICS_PORT and
 * PURSER_METRICS_SERVICE_HOST, among others.
 */
function isServiceLink(name: string, text: string): boolean {
  return SERVICE_ADDRESS.test(text) || SERVICE_VARIABLE.test(name);
}

const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;
const SERVICE_VARIABLE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))$/;

function readOptions(args: readonly string[]): { options: Map<OptionName, OptionText>; problems: string[] } {
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
  const options = new Map<OptionName, OptionText>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(unexpectedArgument(token));
    if (token.kind !== 'option') continue;
    const problem = findProblem(token);
    if (problem !== undefined) problems.push(problem);
    else options.set(token.name as OptionName, { text: token.value ?? 'true', source: token.rawName });
  }
  return { options, problems };
}

function unexpectedArgument({ index, value }: { readonly index: number; readonly value: string }): string {
  const similar = index === 0 ? findSimilar(value, [...COMMANDS, ...PRINTING, 'print', 'cluster']) : undefined;
  if (similar !== undefined) return `unknown command ${JSON.stringify(value)}; did you mean ${similar}?`;
  return `unexpected argument ${JSON.stringify(value)}; with npm, write options after --`;
}

function findProblem({ name, rawName, value, inlineValue }: OptionToken): string | undefined {
  const option = optionOf(name);
  if (option === undefined || rawName !== `--${name}`) return unknownOption(name, rawName);
  if (option.value === undefined) return value === undefined ? undefined : `${rawName} takes no value`;
  const isMissing = !value || (inlineValue === false && value.startsWith('--'));
  return isMissing ? `${rawName} needs a value: ${rawName} ${option.value}` : undefined;
}

function unknownOption(name: string, rawName: string): string {
  const similar = findSimilar(name, Object.keys(OPTIONS));
  return `unknown option ${rawName}${similar === undefined ? '' : `; did you mean --${similar}?`}`;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/**
 * Returns the variables with Purser's prefix that belong to no option, each with the most similar variable if there is exactly one.
 * Purser would otherwise ignore a misspelled setting silently.
 */
export function unknownVariables(env: Env): readonly string[] {
  return Object.entries(env)
    .filter(([name, text = '']) => name.startsWith(PREFIX) && text !== '' && !KNOWN.includes(name) && !isServiceLink(name, text))
    .map(([name]) => {
      const similar = findSimilar(name, KNOWN);
      return similar === undefined ? name : `${name} (${similar}?)`;
    });
}

const PREFIX = variableOf('');
const KNOWN = Object.entries<Option>(OPTIONS)
  .filter(([, { printsAndExits }]) => !printsAndExits)
  .map(([name]) => variableOf(name));
/** Maximum edit distance of a similar name; two transposed letters are two edits. */
const MAX_EDITS = 2;

function findSimilar(name: string, all: readonly string[]): string | undefined {
  const distances = all.map((known) => editDistance(name, known));
  const least = Math.min(...distances);
  const isUnique = least <= MAX_EDITS && distances.indexOf(least) === distances.lastIndexOf(least);
  return isUnique ? all[distances.indexOf(least)] : undefined;
}
