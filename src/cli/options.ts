// Options that several commands share, with the names that kubectl has.

import { Option } from 'commander';
import { anyText, namespace, oneOf, type Parser, ValueError } from '../config/values.ts';
import { parseDuration } from '../std/duration.ts';
import { parsedOption } from './command-line.ts';

/** Formats of `-o` for commands that print objects. */
export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Values of the shared options; undefined for options that are not set. */
export interface SharedOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly hubContext?: string;
  readonly namespace?: string;
  readonly allNamespaces?: true;
  readonly output?: OutputFormat;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** `--kubeconfig`; connection.ts reads the default from KUBECONFIG. */
export function kubeconfigOption(): Option {
  return parsedOption('--kubeconfig <FILE>', 'kubeconfig with the contexts', anyText).default(undefined, 'KUBECONFIG, or ~/.kube/config');
}

/** `--context` of the hub, for commands with one cluster. */
export function contextOption(): Option {
  return parsedOption('--context <CONTEXT>', 'context of the hub', anyText).default(undefined, 'the current context');
}

/** `--context` of a target cluster, which has no default. */
export function targetContextOption(description: string): Option {
  return parsedOption('--context <CONTEXT>', description, anyText);
}

/** `--hub-context`, for commands with a target cluster and the hub. */
export function hubContextOption(): Option {
  return parsedOption('--hub-context <CONTEXT>', 'context of the hub', anyText).default(undefined, 'the current context');
}

/** `-n`. */
export function namespaceOption(): Option {
  return parsedOption('-n, --namespace <NS>', 'namespace', namespace).default(undefined, 'the namespace of the context');
}

/** `-A`. */
export function allNamespacesOption(): Option {
  return new Option('-A, --all-namespaces', 'all namespaces');
}

/** `-o` with one of the formats; its value is undefined if it is not set. */
export function outputOption(formats: readonly OutputFormat[] = OUTPUT_FORMATS): Option {
  return parsedOption('-o, --output <FORMAT>', `output format: ${formats.join(', ')}`, oneOf(formats));
}

/** `--timeout`, in milliseconds. */
export function timeoutOption(initial: string): Option {
  return parsedOption('--timeout <DURATION>', 'maximum time to wait for Purser', timeout).default(parseDuration(initial), initial);
}

const timeout: Parser<number> = (text) => {
  try {
    return parseDuration(text);
  } catch {
    throw new ValueError('a duration such as 2m');
  }
};
