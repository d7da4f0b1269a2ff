// Options of commands that send requests to the façade.

import type { Command } from 'commander';
import { DefaultNamespace, FacadeConfigMap } from '../../api/names.ts';
import { variableOf } from '../../config/options.ts';
import { anyText, httpsUrl, namespace, type Parser, pathSegment, serviceAccount } from '../../config/values.ts';
import { type Env, FacadeVariable } from '../../config/variables.ts';
import { defined } from '../../std/defined.ts';
import { parsedOption } from '../command-line.ts';
import { contextOption, kubeconfigOption, type SharedOptions } from '../options.ts';

/** Values of the options; undefined for options that are not set. */
export interface FacadeOptions extends Pick<SharedOptions, 'kubeconfig' | 'context'> {
  /** URL, as it was written. */
  readonly facade?: string;
  /** File with PEM certificates, or `system`. */
  readonly facadeCa?: string;
  readonly facadePath?: string;
  /** NAMESPACE/NAME. */
  readonly serviceAccount?: string;
  readonly purserNamespace?: string;
}

/** Adds the options to a command. */
export function addFacadeOptions(command: Command): Command {
  const published = `published in the ConfigMap ${FacadeConfigMap.name}`;
  return command
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addOption(parsedOption('--service-account <NS/NAME>', CALLER, sameText(serviceAccount)))
    .addOption(
      parsedOption('--facade <URL>', 'URL of the façade', sameText(httpsUrl)).default(
        undefined,
        `${FacadeVariable.url}, else the URL ${published}, else a port-forward to the Service`,
      ),
    )
    .addOption(
      parsedOption('--facade-ca <FILE>', "PEM file with the CA of the façade's certificate, or system for public CAs", anyText).default(
        undefined,
        `${FacadeVariable.authority}, else the CA ${published}`,
      ),
    )
    .addOption(
      parsedOption('--facade-path <NAME>', 'first path segment of token requests to the façade', pathSegment).default(
        undefined,
        `${variableOf('facade-path')}, else the path ${published}`,
      ),
    )
    .addOption(
      parsedOption('--purser-namespace <NS>', 'namespace of Purser on the hub', namespace).default(
        undefined,
        `${variableOf('namespace')}, else ${DefaultNamespace}`,
      ),
    );
}

/** Returns the options with the values of environment variables. */
export function withVariables<T extends FacadeOptions>(options: T, env: Env): T {
  const fromEnvironment = defined<FacadeOptions>({
    facade: env[FacadeVariable.url] || undefined,
    facadeCa: env[FacadeVariable.authority] || undefined,
    facadePath: env[variableOf('facade-path')] || undefined,
    purserNamespace: env[variableOf('namespace')] || undefined,
  });
  return { ...fromEnvironment, ...options };
}

/** Returns a parser that checks a text and keeps its spelling, by which a credential is cached. */
export function sameText(parser: Parser<unknown>): Parser<string> {
  return (text) => {
    parser(text);
    return text;
  };
}

const CALLER = 'service account on the hub to authenticate as, for a context without a bearer token, such as one of kind';
