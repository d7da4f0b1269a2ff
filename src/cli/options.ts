// Options that several commands share.

import { Option } from 'commander';
import { DefaultNamespace, Label, OwnServiceAccounts } from '../api/names.ts';
import { anyText, namespace, namespaces, objectName, oneOf, type Parser, ValueError } from '../config/values.ts';
import { validateLabelValue } from '../kubernetes/names.ts';
import { parseDuration } from '../std/duration.ts';
import { defineOption, defineSingleOption } from './command-line.ts';

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
  /** Maximum time to wait for Purser, in milliseconds. */
  readonly timeout?: number;
}

/** Defines `--kubeconfig`; connection.ts reads the default from KUBECONFIG. */
export function defineKubeconfigOption(): Option {
  return defineOption('--kubeconfig <FILE>', 'kubeconfig file to use', anyText).default(undefined, 'KUBECONFIG, or ~/.kube/config');
}

/** Defines `--context` for commands whose `--context` selects the hub. */
export function defineContextOption(): Option {
  return defineOption('--context <CONTEXT>', 'context of the hub', anyText).default(undefined, 'the current context');
}

/** Defines `--context` for commands that use a target cluster; it has no default. */
export function defineTargetContextOption(description: string): Option {
  return defineOption('--context <CONTEXT>', description, anyText);
}

/** Defines `--hub-context` for commands that use a target cluster and the hub. */
export function defineHubContextOption(): Option {
  return defineOption('--hub-context <CONTEXT>', 'context of the hub', anyText).default(undefined, 'the current context');
}

/** Defines `-n`. */
export function defineNamespaceOption(description = 'namespace of the ManagedToken'): Option {
  return defineOption('-n, --namespace <NS>', description, namespace).default(undefined, 'the namespace of the context');
}

/** Defines `--namespace` for commands whose `--namespace` is Purser's namespace. */
export function defineOwnNamespaceOption(): Option {
  return defineSingleOption('--namespace <NS>', "Purser's namespace on the hub", namespace).default(undefined, DefaultNamespace);
}

/** Defines `--namespaces`: the namespaces on a target whose service accounts Purser can issue tokens for. */
export function defineTargetNamespacesOption(): Option {
  return defineSingleOption('--namespaces <NS,NS>', ISSUABLE_NAMESPACES, namespaces).default(undefined, 'all');
}

/** Defines `--set`: the cluster set that a Cluster belongs to. */
export function defineSetOption(): Option {
  return defineSingleOption(
    '--set <NAME>',
    `cluster set of the Cluster, for use in RBAC rules; sets the label ${Label.clusterSet}`,
    labelValue,
  );
}

/** Parses a label value that is not empty. */
const labelValue: Parser<string> = (text) => {
  if (text === '' || validateLabelValue(text).length > 0)
    throw new ValueError('a name of at most 63 letters, digits, dots, hyphens and underscores that starts and ends with a letter or digit');
  return text;
};

/** Parses the name of a service account for federation. Rejects the service accounts that Purser runs as. */
export const federatedServiceAccount: Parser<string> = (text) => {
  const name = objectName(text);
  if (OwnServiceAccounts.includes(name)) throw new ValueError(`a service account other than ${OwnServiceAccounts.join(', ')}`);
  return name;
};

/** Defines `-A`. */
export function defineAllNamespacesOption(): Option {
  return new Option('-A, --all-namespaces', 'check all namespaces');
}

/** Defines `-o`, which accepts one of `formats`; the value is undefined if the option is not set. */
export function defineOutputOption(formats: readonly OutputFormat[] = OUTPUT_FORMATS, description = 'output format'): Option {
  return defineOption('-o, --output <FORMAT>', `${description}: ${formats.join(', ')}`, oneOf(formats));
}

/** Defines `--timeout`; the parsed value is in milliseconds. */
export function defineTimeoutOption(initial: string, description: string): Option {
  return defineOption('--timeout <DURATION>', description, timeout).default(parseDuration(initial), initial);
}

const ISSUABLE_NAMESPACES = 'namespaces on the target cluster whose service accounts Purser can issue tokens for';

const timeout: Parser<number> = (text) => {
  let ms = -1;
  try {
    ms = parseDuration(text);
  } catch {}
  if (ms < 0) throw new ValueError('a duration such as 2m');
  return ms;
};
