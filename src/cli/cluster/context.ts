// Converts a context of the user's kubeconfig to the registration of its cluster.

import { StartError } from '../../config/start-error.ts';
import { createNameLookup, type NameLookup } from '../../kube/addresses.ts';
import type { ContextServer } from '../../kube/kube-config.ts';
import { checkAddress } from './address.ts';
import type { TargetRegistration } from './registration.ts';

export interface RegistrationRequest {
  /** Name of the Cluster. */
  readonly name: string;
  /** Purser's namespace on the hub. */
  readonly namespace: string;
  /** Context of the target, with its API server. */
  readonly context: ContextServer & { readonly name: string };
  /** Address at which Purser reaches the target; undefined for the context's address. */
  readonly server?: string;
  /** True to accept loopback addresses, because Purser runs on this machine. */
  readonly allowLoopback?: boolean;
  readonly namespaces?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the registration. Throws a StartError for a context or address that Purser cannot use. */
export async function toRegistration(
  { name, namespace, context, server = context.server, allowLoopback = false, namespaces, labels }: RegistrationRequest,
  findAddresses: NameLookup = createNameLookup(),
): Promise<TargetRegistration> {
  const isOwnAddress = server === context.server;
  const contextName = `context ${JSON.stringify(context.name)}`;
  if (!context.isVerified)
    throw new StartError(
      `${contextName} does not verify the certificate of the target cluster, but Purser always verifies it. Set certificate-authority-data instead of insecure-skip-tls-verify`,
    );
  if (isOwnAddress && context.tlsServerName !== undefined)
    throw new StartError(
      `${contextName} sets tls-server-name, which Purser does not support. Set --server to an address that the certificate covers`,
    );
  await checkAddress(server, { source: isOwnAddress ? contextName : '--server', allowLoopback, findAddresses });
  return { name, namespace, server, ca: context.ca, proxy: context.proxy, namespaces, labels };
}
