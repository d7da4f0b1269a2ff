// `purser token`: requests a token from the façade.

import { StartError } from '../../config/start-error.ts';
import { serviceAccount, tokenLifetime } from '../../config/values.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import type { CommandHost } from '../command.ts';
import { FacadeClient, type IssuedToken } from '../facade/client.ts';
import { formatDocument } from '../output.ts';
import type { TokenOptions } from './options.ts';

/** A token to request. */
export interface WantedToken extends TokenOptions {
  readonly cluster: string;
  /** Service account on the cluster, `NAMESPACE/NAME`. */
  readonly account: string;
}

/** Prints a token or, if `output` is set, the TokenRequest. */
export async function printToken(wanted: WantedToken & { readonly output?: 'json' | 'yaml' }, host: CommandHost): Promise<void> {
  await using facade = await FacadeClient.open(wanted, host);
  const { request } = await requestWantedToken(facade, wanted);
  host.print(wanted.output === undefined ? `${request.status?.token}\n` : formatDocument(request, wanted.output));
}

/** Requests a token, by default for the audiences of the cluster's API server. */
export async function requestWantedToken(facade: FacadeClient, wanted: WantedToken): Promise<IssuedToken> {
  const audiences = wanted.audience ?? (await readApiAudiences(facade, wanted.cluster));
  const expirationSeconds = wanted.duration === undefined ? undefined : tokenLifetime(wanted.duration);
  const spec = { audiences, ...omitUndefined<{ expirationSeconds?: number }>({ expirationSeconds }) };
  return await facade.requestToken(wanted.cluster, serviceAccount(wanted.account), spec);
}

/** Returns the audiences of a cluster's API server. Throws a StartError if they are unknown. */
async function readApiAudiences(facade: FacadeClient, name: string): Promise<readonly string[]> {
  return requireAudiences((await facade.getCluster(name)).status?.apiAudiences, name);
}

/** Returns the audiences in the status of a cluster. Throws a StartError if there are none. */
export function requireAudiences(audiences: readonly string[] | undefined, cluster: string): readonly string[] {
  if (audiences !== undefined && audiences.length > 0) return audiences;
  throw new StartError(`the audiences of cluster ${cluster} are unknown. Set --audience to an audience that its API server accepts`);
}
