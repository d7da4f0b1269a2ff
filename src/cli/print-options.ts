// Options of `purser print`.

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { StartError } from '../config/start-error.ts';
import { type Parser, ValueError } from '../config/values.ts';

/** Names and types of options. */
export type KnownOptions = NonNullable<ParseArgsConfig['options']>;

/** Given options. Values are parsed when they are read. */
export interface PrintOptions {
  /** Returns all values of an option. Throws a StartError that names the option. */
  all<T>(name: string, parser: Parser<T>): readonly T[];
  /** Returns the value of an option; undefined if it is not set. Throws a StartError that names the option. */
  one<T>(name: string, parser: Parser<T>): T | undefined;
}

/** Parses options. Throws a StartError, with `usage` for unknown options and further arguments. */
export function parsePrintOptions(args: readonly string[], options: KnownOptions, usage: string): PrintOptions {
  const values = parse(args, options, usage);
  const all = <T>(name: string, parser: Parser<T>): readonly T[] =>
    [values[name] ?? []].flat().map((value) => parseValue(name, String(value), parser));
  const one = <T>(name: string, parser: Parser<T>): T | undefined => {
    const [first, second] = all(name, parser);
    if (second !== undefined) throw new StartError(`--${name} is set twice; set it once`);
    return first;
  };
  return { all, one };
}

function parse(args: readonly string[], options: KnownOptions, usage: string) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (cause) {
    throw new StartError(usage, { cause });
  }
}

function parseValue<T>(name: string, text: string, parser: Parser<T>): T {
  try {
    return parser(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new StartError(`--${name} must be ${error.message}, not ${JSON.stringify(text)}`, { cause: error });
  }
}
