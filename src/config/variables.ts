// Options that are set by environment variables, and misspelled variables.

import { findSimilar } from '../std/edit-distance.ts';
import { OPTIONS, type OptionName, toVariableName } from './options.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Text of an option and its source, for example `--clusters` or `PURSER_CLUSTERS`. */
export interface OptionText {
  readonly text: string;
  readonly source: string;
}

/** Texts of the options that are set, by option name. */
export type OptionTexts = ReadonlyMap<OptionName, OptionText>;

/** Reads the options that environment variables set; ignores empty variables and service links. */
export function readVariables(env: Env): OptionTexts {
  const texts = (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
    const source = toVariableName(name);
    const text = env[source];
    return !text || isServiceLink(source, text) ? [] : [[name, { text, source }] as const];
  });
  return new Map(texts);
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

/**
 * Returns the variables with Purser's prefix that Purser does not know, each with the most similar known variable, if there is one. Omits
 * empty variables and service links. Callers must warn about the variables, because Purser would otherwise ignore a misspelled setting
 * silently.
 */
export function listUnknownVariables(env: Env): readonly string[] {
  return Object.entries(env)
    .filter(([name, text = '']) => name.startsWith(PREFIX) && text !== '' && !KNOWN.includes(name) && !isServiceLink(name, text))
    .map(([name]) => {
      const similar = findSimilar(name, KNOWN);
      return similar === undefined ? name : `${name} (${similar}?)`;
    });
}

const PREFIX = toVariableName('');
/** Environment variables for the URL and the CA of the façade, for commands that send requests to the façade. */
export const FacadeVariable = { url: 'PURSER_FACADE', authority: 'PURSER_FACADE_CA' } as const;

const KNOWN = [...Object.keys(OPTIONS).map(toVariableName), ...Object.values(FacadeVariable)];
