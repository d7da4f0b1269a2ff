// The text format of Prometheus, written in slices: a fleet's worth of samples must not keep the process from its work.

import { setImmediate } from 'node:timers/promises';

/** All samples of one name. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** The samples as text, in whole lines. */
  samples(): Iterable<string>;
}

export type Labels = Readonly<Record<string, string>>;

/** One line of a family. */
export function sample(name: string, labels: Labels, value: number): string {
  return `${name}{${labelsText(labels)}} ${value}\n`;
}

/** Labels as they stand between the braces. */
export function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

/** The text of the families in pieces. Others may work between any two of them. */
export async function* exposition(families: readonly Family[]): AsyncGenerator<string> {
  for (const family of families) {
    const { name, help, type } = family;
    let piece = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const text of family.samples()) {
      piece += text;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
      await setImmediate();
    }
    yield piece;
  }
}

/** Takes a millisecond or two to put together. */
const PIECE_LENGTH = 65_536;

function escaped(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
