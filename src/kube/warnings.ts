// The Warning headers of an answer: what a server tells its caller besides it.

import type { ReplyHeaders } from './reply.ts';

/** The texts of the warnings that a Kubernetes API gave. Others than those of code 299 are not from one. */
export function warningTexts({ warning = [] }: ReplyHeaders): readonly string[] {
  const values = typeof warning === 'string' ? [warning] : warning;
  return values.flatMap((value) => [...value.matchAll(WARNING)].map(([, text = '']) => text.replace(/\\(.)/g, '$1')));
}

const WARNING = /\b299 \S+ "((?:[^"\\]|\\.)*)"/g;
