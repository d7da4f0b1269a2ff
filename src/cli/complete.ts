// `purser __complete`: candidates for the last word of a command line, in cobra's protocol, which kubectl uses for plugins.

import type { Argument, Command, Option } from 'commander';
import { type ApiObject, Clusters, ManagedTokens, Namespaces, type Resource } from '../api/resources.ts';
import { sleep } from '../std/clock.ts';
import type { CommandHost } from './command.ts';
import type { Connections } from './connection.ts';

/** A candidate with a description, which may be empty. */
type Candidate = readonly [value: string, description: string];

/**
 * Prints one candidate per line, with a tab before its description, and a last line with a directive for the shell. Candidates come from
 * the commands below `root`, from the kubeconfig, and from the hub. Prints no candidates if a request fails or times out.
 */
export async function complete(root: Command, words: readonly string[], host: CommandHost): Promise<void> {
  const line = parseLine(root, words.slice(0, -1));
  const { kind, typed } = findSubject(line, words.at(-1) ?? '');
  const candidates = await findCandidates(kind, line, host).catch(() => []);
  const lines = candidates
    .filter(([value]) => value.startsWith(typed) && !/\s/.test(value))
    .map(([value, description]) => (description === '' ? value : `${value}\t${description}`));
  host.print(`${[...lines, `:${kind.type === 'files' ? Directive.default : Directive.noFiles}`].join('\n')}\n`);
}

/** Maximum time for a lookup, in milliseconds; the same as in kubectl's completion. */
const DEADLINE_MS = 5_000;
/** Maximum number of names from the hub. */
const MAX_NAMES = 500;

/** Cobra directives; `default` lets the shell complete file names. */
const Directive = { default: 0, noFiles: 4 } as const;

/** The command line before its last word. */
interface Line {
  readonly command: Command;
  /** Positional arguments of the command. */
  readonly args: readonly string[];
  /** Values by the long names of options. */
  readonly values: ReadonlyMap<string, string>;
  /** Option whose value is the last word; undefined if the last word is not a value. */
  readonly pending: Option | undefined;
}

function parseLine(root: Command, words: readonly string[]): Line {
  return words.reduce<Line>(addWord, { command: root, args: [], values: new Map(), pending: undefined });
}

function addWord(line: Line, word: string): Line {
  const { command, args, values, pending } = line;
  if (pending !== undefined) return { ...line, values: new Map([...values, [pending.long ?? '', word]]), pending: undefined };
  const [flag, inline] = splitFlag(word);
  const option = findOption(command, flag);
  if (option !== undefined) {
    if (inline !== undefined) return { ...line, values: new Map([...values, [flag, inline]]) };
    return option.required ? { ...line, pending: option } : line;
  }
  const next = args.length === 0 ? findCommand(command, [word]) : undefined;
  if (next !== undefined) return { ...line, command: next };
  return word.startsWith('-') ? line : { ...line, args: [...args, word] };
}

/** Splits `--flag=value`; the value is undefined without an equals sign. */
function splitFlag(word: string): readonly [string, string | undefined] {
  const [flag = '', value] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
  return [flag, value];
}

function findOption(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

/** Kind of the last word: one of a fixed list of candidates, a file name, or a name to look up by the placeholder in the help. */
type Kind =
  | { readonly type: 'fixed'; readonly candidates: readonly Candidate[] }
  | { readonly type: 'files' }
  | { readonly type: 'names'; readonly placeholder: string };

/** Returns the kind of the last word, and the part of the word that candidates begin with. */
function findSubject({ command, args, pending }: Line, last: string): { readonly kind: Kind; readonly typed: string } {
  if (pending !== undefined) return { kind: toValueKind(pending), typed: last };
  const [flag, inline] = splitFlag(last);
  const option = inline === undefined ? undefined : findOption(command, flag);
  if (option !== undefined) return { kind: toValueKind(option), typed: inline ?? '' };
  return { kind: last.startsWith('-') ? toFixedKind(listOptions(command)) : toArgumentKind(command, args), typed: last };
}

function toFixedKind(candidates: readonly Candidate[]): Kind {
  return { type: 'fixed', candidates };
}

function listOptions(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, short].filter((flag) => flag !== undefined).map((flag) => [flag, description] as const),
    );
}

function toValueKind({ argChoices, flags }: Option): Kind {
  return toKind(argChoices, /<(.+)>/.exec(flags)?.[1] ?? '');
}

function toArgumentKind(command: Command, args: readonly string[]): Kind {
  if (command.commands.length > 0) return toFixedKind(args.length > 0 ? [] : listCommands(command));
  const declared: readonly Argument[] = command.registeredArguments;
  const argument = declared[args.length] ?? declared.findLast(({ variadic }) => variadic);
  if (argument === undefined) return toFixedKind([]);
  if (argument.name() === 'COMMAND') return toFixedKind(listCommands(findCommand(command.parent as Command, args)));
  return toKind(argument.argChoices, argument.name() === 'NAME' ? `${command.parent?.name()} NAME` : argument.name());
}

function toKind(choices: readonly string[] | undefined, placeholder: string): Kind {
  if (choices !== undefined) return toFixedKind(choices.map((choice) => [choice, '']));
  return placeholder === 'FILE' || placeholder === 'DIR' ? { type: 'files' } : { type: 'names', placeholder };
}

function listCommands(command: Command | undefined): readonly Candidate[] {
  return command === undefined
    ? []
    : command
        .createHelp()
        .visibleCommands(command)
        .map((each) => [each.name(), each.summary()]);
}

function findCommand(root: Command, names: readonly string[]): Command | undefined {
  return names.reduce<Command | undefined>((command, name) => command?.commands.find((each) => each.name() === name), root);
}

async function findCandidates(kind: Kind, line: Line, host: CommandHost): Promise<readonly Candidate[]> {
  if (kind.type === 'fixed') return kind.candidates;
  const lookUp = kind.type === 'names' && Object.hasOwn(LOOKUPS, kind.placeholder) ? LOOKUPS[kind.placeholder] : undefined;
  if (lookUp === undefined) return [];
  const { Connections: Opened } = await import('./connection.ts');
  const find = async () => {
    await using connections = new Opened(host, line.values.get('--kubeconfig'));
    return await lookUp(new Lookup(connections, line));
  };
  // Begins after the modules are loaded, which takes seconds on a busy machine.
  const deadline = new AbortController();
  const late = sleep(host.clock, DEADLINE_MS, deadline.signal).then(
    () => [],
    () => [],
  );
  try {
    return await Promise.race([find(), late]);
  } finally {
    deadline.abort();
  }
}

/** Looks up names in the kubeconfig and on the hub, with the options of a command line. */
class Lookup {
  readonly #connections: Connections;
  readonly #line: Line;

  constructor(connections: Connections, line: Line) {
    this.#connections = connections;
    this.#line = line;
  }

  async listContexts(): Promise<readonly Candidate[]> {
    const { contexts } = await this.#connections.readContexts();
    return contexts.map(({ name, cluster }) => [name, cluster]);
  }

  /** Returns the names of objects of a kind on the hub, at most MAX_NAMES; for a namespaced kind, only those in the selected namespace. */
  async listNames(resource: Resource<ApiObject>): Promise<readonly string[]> {
    const { command, values } = this.#line;
    const context = values.get(findOption(command, '--hub-context') === undefined ? '--context' : '--hub-context');
    const namespace = resource.namespaced ? (values.get('--namespace') ?? (await this.#connections.readNamespace(context))) : undefined;
    const hub = await this.#connections.open(context);
    const { items } = await hub.list(resource, { namespace, limit: MAX_NAMES, timeoutMs: DEADLINE_MS });
    return items.map(({ metadata }) => metadata.name);
  }
}

async function findClusters(lookup: Lookup): Promise<readonly Candidate[]> {
  return (await lookup.listNames(Clusters)).map((name) => [name, '']);
}

/** Lookups by the placeholder of an option or argument; for NAME, the command group precedes the placeholder. */
const LOOKUPS: Readonly<Record<string, (lookup: Lookup) => Promise<readonly Candidate[]>>> = {
  CONTEXT: (lookup) => lookup.listContexts(),
  CLUSTER: findClusters,
  'cluster NAME': findClusters,
  NS: async (lookup) => (await lookup.listNames(Namespaces)).map((name) => [name, '']),
  'mt/NAME': async (lookup) => (await lookup.listNames(ManagedTokens)).map((name) => [`mt/${name}`, '']),
};
