// Variables that are called like those of options, and are none: a setting that somebody misspelt would count for nothing in silence.

import { editDistance } from '../std/edit-distance.ts';
import { type Env, isServiceLink } from './arguments.ts';
import { OPTIONS, type Option, variableOf } from './options.ts';

/** The names of such variables, each with the one that was meant where that is plain. */
export function unknownVariables(env: Env): readonly string[] {
  return Object.entries(env)
    .filter(([name, text = '']) => name.startsWith(PREFIX) && text !== '' && !KNOWN.includes(name) && !isServiceLink(name, text))
    .map(([name]) => {
      const meant = meantBy(name);
      return meant === undefined ? name : `${name} (${meant}?)`;
    });
}

const PREFIX = variableOf('');
const KNOWN = Object.entries<Option>(OPTIONS)
  .filter(([, { asks }]) => !asks)
  .map(([name]) => variableOf(name));
/** Two letters that changed places are two changes. */
const MAX_CHANGES = 2;

function meantBy(name: string): string | undefined {
  const distances = KNOWN.map((known) => editDistance(name, known));
  const least = Math.min(...distances);
  const isPlain = least <= MAX_CHANGES && distances.indexOf(least) === distances.lastIndexOf(least);
  return isPlain ? KNOWN[distances.indexOf(least)] : undefined;
}
