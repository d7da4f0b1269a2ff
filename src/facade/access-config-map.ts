// The ConfigMap that publishes the façade's CA certificate and settings to callers, who are not authorized to read the Secret of the
// serving certificate.

import { isDeepStrictEqual } from 'node:util';
import { FacadeConfigMap } from '../api/names.ts';
import { ConfigMaps } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { hasReason, ignoreReasons } from '../kubernetes/status.ts';
import { omitUndefined } from '../std/omit-undefined.ts';

/** Settings that callers of the façade need. */
export interface FacadeAccess {
  /** URL of the façade for callers outside the hub; undefined if such callers must forward a port. */
  readonly server?: string | undefined;
  /** First path segment of token requests. */
  readonly path: string;
  /** Audiences accepted in callers' tokens; empty for the hub's own audiences. */
  readonly audiences: readonly string[];
}

/** Settings that callers need, and the CA of the serving certificate. */
export interface PublishedFacadeAccess extends FacadeAccess {
  /** CA certificate as PEM; undefined if the Secret of the serving certificate has no ca.crt, for example with a public CA. */
  readonly authority: string | undefined;
}

/** Writes the settings and the CA to the ConfigMap, unless the ConfigMap already contains them. Throws if a request to the hub fails. */
export async function publishFacadeAccess(
  hub: Pick<KubeClient, 'get' | 'create' | 'update'>,
  namespace: string,
  { authority, server, path, audiences }: PublishedFacadeAccess,
): Promise<void> {
  const metadata = { namespace, name: FacadeConfigMap.name };
  const data = omitUndefined<Record<string, string>>({
    [FacadeConfigMap.authority]: authority,
    [FacadeConfigMap.server]: server,
    [FacadeConfigMap.path]: path,
    [FacadeConfigMap.audiences]: audiences.length > 0 ? audiences.join(',') : undefined,
  });
  const found = await ignoreReasons(hub.get(ConfigMaps, metadata), 'NotFound');
  if (isDeepStrictEqual(found?.data, data)) return;
  const written =
    found === undefined
      ? hub.create(ConfigMaps, { metadata: { ...metadata, labels: { 'app.kubernetes.io/name': 'purser' } }, data })
      : hub.update(ConfigMaps, { ...found, data });
  try {
    await written;
  } catch (error) {
    // Another replica may have written the same content at the same time.
    const current = hasReason(error, 'AlreadyExists', 'Conflict') ? await hub.get(ConfigMaps, metadata) : undefined;
    if (!isDeepStrictEqual(current?.data, data)) throw error;
  }
}
