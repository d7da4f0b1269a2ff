// Commander commands with Purser's help layout and one-line errors.

import { Argument, Command, type ErrorOptions, Help, type HelpContext, Option } from 'commander';
import { StartError } from '../config/start-error.ts';
import { type Parser, ValueError } from '../config/values.ts';
import { findSimilar } from '../std/edit-distance.ts';
import type { CommandHost } from './command.ts';

/**
 * Returns a new command that prints to the host and never exits the process. Incorrect usage throws a StartError; for an unknown command or
 * option, the message suggests a similar one, if there is one. `summary` is a lowercase imperative for the list of commands. The caller
 * sets the description, a full sentence for `--help`.
 */
export function defineCommand(host: CommandHost, name: string, summary: string): Command {
  return new CommandLine(name)
    .summary(summary)
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.print(text),
      writeErr: (text) => host.warn(text),
      getOutHelpWidth: () => host.columns ?? DEFAULT_COLUMNS,
      getErrHelpWidth: () => host.columns ?? DEFAULT_COLUMNS,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
}

/** Returns an option whose value is parsed; the last occurrence applies. `flags` has the form `-n, --namespace <NS>`. */
export function defineOption<T>(flags: string, description: string, parser: Parser<T>): Option {
  const option = new Option(flags, description);
  if (parser.words !== undefined) option.argChoices = [...parser.words];
  return option.argParser((text: string) => parseValue(option, parser, text));
}

/** Returns an option that can be set only once, because a second value would silently replace the first. */
export function defineSingleOption<T>(flags: string, description: string, parser: Parser<T>): Option {
  const option = new Option(flags, description);
  return option.argParser((text: string, earlier: T | undefined) => {
    if (earlier !== undefined) throw new StartError(`${option.long} is set twice. Set the option once`);
    return parseValue(option, parser, text);
  });
}

/** Returns an option that can be repeated; its value is the list of all values. */
export function defineRepeatableOption<T>(flags: string, description: string, parser: Parser<T>): Option {
  const option = new Option(flags, `${description}; can be repeated`);
  return option.argParser((text: string, earlier: readonly T[] | undefined) => [...(earlier ?? []), parseValue(option, parser, text)]);
}

/** Returns an argument whose value is parsed. `name` has the form `<NAME>`, or `[NAME]` if it is optional. */
export function defineArgument<T>(name: string, description: string, parser: Parser<T>): Argument {
  const argument = new Argument(name, description);
  return argument.argParser((text: string) => parseValue({ long: argument.name() }, parser, text));
}

/** Adds examples to a command's help. `examples` maps the comment above each command line to the command line. */
export function addExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const lines = Object.entries(examples).map(([comment, line]) => `  # ${comment}\n  ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n\n')}`);
}

/** Returns the path of a command from the root, for example `purser cluster revoke`. */
export function formatCommandPath(command: Command): string {
  return command.parent === null ? command.name() : `${formatCommandPath(command.parent)} ${command.name()}`;
}

/** Width of help output without a terminal, in characters. */
const DEFAULT_COLUMNS = 120;

function parseValue<T>({ long }: Pick<Option, 'long'>, parser: Parser<T>, text: string): T {
  try {
    return parser(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new StartError(`${long} must be ${error.message}, not ${JSON.stringify(text)}`, { cause: error });
  }
}

class CommandLine extends Command {
  override createHelp(): Help {
    return Object.assign(new CommandHelp(), this.configureHelp());
  }

  /** Throws a one-line StartError. Commander calls this method for all incorrect usage. */
  override error(message: string, options?: ErrorOptions): never {
    const text = this.#findCause(message, options?.code)
      .replace(/^error: /, '')
      .replace(/\n\(Did you mean (.*)\?\)/, '; did you mean $1?')
      .replace(/<(.+)>/, '$1')
      .replace(/\.?\n*$/, '');
    throw new StartError(`${text} (for help, run ${formatCommandPath(this)} --help)`);
  }

  /** Returns the mistake to correct, which may differ from the one that commander names. */
  #findCause(message: string, code: string | undefined): string {
    // If a mandatory option is missing, the cause is usually a misspelled option.
    const misspelled = code === MISSING_OPTION ? this.args.find((arg) => /^--?\w/.test(arg)) : undefined;
    if (misspelled !== undefined) return describeUnknownWord('option', misspelled, this.createHelp().visibleOptions(this).map(longName));
    const unknown = /^error: unknown option '(--?\w[^'=]*)/.exec(message)?.[1];
    const isOfCommand = listCommands(this).some(({ options }) => options.some(({ long, short }) => unknown === long || unknown === short));
    return unknown !== undefined && isOfCommand ? `${unknown} is an option of a command. Write it after the command name` : message;
  }

  /** Rejects a missing value first: commander would read the next option as the value. Also rejects a value for a flag. */
  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    const end = argv.indexOf('--');
    const args = end === -1 ? argv : argv.slice(0, end);
    const problem = args.map((arg, index) => findValueProblem(this.options, arg, argv[index + 1])).find((each) => each !== undefined);
    if (problem !== undefined) return this.error(problem);
    const parsed = super.parseOptions(argv);
    // A command group passes unknown options on to its commands. A command removes the value of an unknown option from the error: the value
    // may be secret, and would prevent a match with a similar name.
    return this.commands.length > 0 ? parsed : { ...parsed, unknown: parsed.unknown.map((arg) => arg.replace(/^(--\w[^=]*)=.*/s, '$1')) };
  }

  /** Rejects the name of an unknown command, for which commander would print the help of the group. */
  override helpInformation(context?: HelpContext): string {
    const known = this.commands.map((command) => command.name());
    const [word] = this.args;
    if (word !== undefined && known.length > 0 && !known.includes(word) && !word.startsWith('-'))
      this.error(describeUnknownWord('command', word, known));
    return super.helpInformation(context);
  }
}

/** Returns all commands below a group, at any depth. */
function listCommands(group: Command): readonly Command[] {
  return group.commands.flatMap((command) => [command, ...listCommands(command)]);
}

/** Commander's code for a missing mandatory option. */
const MISSING_OPTION = 'commander.missingMandatoryOptionValue';

function longName({ long = '' }: Option): string {
  return long;
}

/** Returns a message like commander's for an unknown word, with the most similar word of `known`, if there is one. */
export function describeUnknownWord(type: 'command' | 'option', word: string, known: readonly string[]): string {
  const similar = findSimilar(word, known);
  return `unknown ${type} '${word}'${similar === undefined ? '' : `; did you mean ${similar}?`}`;
}

/** Returns a message for an option with a missing or unexpected value; undefined for any other argument. `next` is the next argument. */
function findValueProblem(options: readonly Option[], arg: string, next: string | undefined): string | undefined {
  const [flag = '', inline] = arg.startsWith('--') ? arg.split(/=(.*)/s) : [arg];
  const option = options.find(({ long, short }) => long === flag || short === flag);
  if (option === undefined) return undefined;
  if (!option.required) return inline === undefined ? undefined : `${flag} takes no value`;
  const isMissing = inline === undefined ? !next || next.startsWith('--') : inline === '';
  return isMissing ? `${flag} needs a value: ${flag} ${/<(.+)>/.exec(option.flags)?.[1] ?? ''}` : undefined;
}

/** Help with placeholders in capital letters without angle brackets, and with arguments before options. */
class CommandHelp extends Help {
  override commandUsage(command: Command): string {
    const args = command.registeredArguments.map((argument) => this.argumentTerm(argument));
    const group = command.commands.length > 0 && args.length === 0 ? ['COMMAND'] : [];
    return [formatCommandPath(command), ...group, ...args, '[options]'].join(' ');
  }

  override subcommandTerm(command: Command): string {
    return command.name();
  }

  override argumentTerm(argument: Argument): string {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? name : `[${name}]`;
  }

  override optionTerm({ flags }: Option): string {
    return flags.replace(/<(.+)>/, '$1');
  }

  override optionDescription({ description, defaultValue, defaultValueDescription, required }: Option): string {
    const text = defaultValueDescription ?? (required && defaultValue !== undefined ? String(defaultValue) : undefined);
    return text === undefined ? description : `${description} (default ${text})`;
  }
}
