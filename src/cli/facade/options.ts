// Options of commands that send requests to the façade.

import type { Command } from 'commander';
import { DefaultNamespace, FacadeConfigMap } from '../../api/names.ts';
import { toVariableName } from '../../config/options.ts';
import { StartError } from '../../config/start-error.ts';
import { anyText, httpsUrl, namespace, type Parser, pathSegment, serviceAccount } from '../../config/values.ts';
import { type Env, FacadeVariable } from '../../config/variables.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { defineOption } from '../command-line.ts';
import { defineContextOption, defineKubeconfigOption, type SharedOptions } from '../options.ts';

/** Values of the options for façade requests; undefined for options that are not set. */
export interface FacadeClientOptions extends Pick<SharedOptions, 'kubeconfig' | 'context'> {
  /** URL, as written by the user. */
  readonly facade?: string;
  /** File with PEM certificates, or `system`. */
  readonly facadeCa?: string;
  readonly facadePath?: string;
  /** Service account on the hub to authenticate as, `NAMESPACE/NAME`. */
  readonly serviceAccount?: string;
  readonly purserNamespace?: string;
}

/** Adds the options for façade requests to a command. */
export function addFacadeOptions(command: Command): Command {
  const published = `published in the ConfigMap ${FacadeConfigMap.name}`;
  return command
    .addOption(defineContextOption())
    .addOption(defineKubeconfigOption())
    .addOption(defineOption('--service-account <NS/NAME>', CALLER_SERVICE_ACCOUNT, toTextParser(serviceAccount)))
    .addOption(
      defineOption('--facade <URL>', 'URL of the façade', toTextParser(httpsUrl)).default(
        undefined,
        `${FacadeVariable.url}, else the URL ${published}, else a port-forward to the Service`,
      ),
    )
    .addOption(
      defineOption('--facade-ca <FILE>', "PEM file with the CA of the façade's certificate, or system for public CAs", anyText).default(
        undefined,
        `${FacadeVariable.authority}, else the CA ${published}, else public CAs`,
      ),
    )
    .addOption(
      defineOption('--facade-path <NAME>', 'first path segment of token requests to the façade', pathSegment).default(
        undefined,
        `${toVariableName('facade-path')}, else the path ${published}, else orchestrator`,
      ),
    )
    .addOption(
      defineOption('--purser-namespace <NS>', "Purser's namespace on the hub", namespace).default(
        undefined,
        `${toVariableName('namespace')}, else ${DefaultNamespace}`,
      ),
    );
}

/** Returns the options, with values from environment variables for options that are not set. Throws a StartError for an invalid value. */
export function withVariables<T extends FacadeClientOptions>(options: T, env: Env): T {
  const valueOf = (variable: string, parser: Parser<string>) => {
    const text = env[variable];
    return text ? parseVariable(variable, text, parser) : undefined;
  };
  const fromEnvironment = omitUndefined<FacadeClientOptions>({
    facade: valueOf(FacadeVariable.url, toTextParser(httpsUrl)),
    facadeCa: valueOf(FacadeVariable.authority, anyText),
    facadePath: valueOf(toVariableName('facade-path'), pathSegment),
    purserNamespace: valueOf(toVariableName('namespace'), namespace),
  });
  return { ...fromEnvironment, ...options };
}

function parseVariable(variable: string, text: string, parser: Parser<string>): string {
  try {
    return parser(text);
  } catch (cause) {
    throw new StartError(`${variable} must be ${(cause as Error).message}, not ${JSON.stringify(text)}`, { cause });
  }
}

/** Returns a parser that checks a string and returns it unchanged: the spelling is part of the key of a cached credential. */
export function toTextParser(parser: Parser<unknown>): Parser<string> {
  return (text) => {
    parser(text);
    return text;
  };
}

const CALLER_SERVICE_ACCOUNT =
  'service account on the hub to authenticate as; needed for contexts without a bearer token that the façade accepts, such as kind contexts (default the user of the context)';
