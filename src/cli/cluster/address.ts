// The address at which Purser reaches a target cluster.

import { isIP } from 'node:net';
import { StartError } from '../../config/start-error.ts';
import type { NameLookup } from '../../kube/addresses.ts';
import { createDialPolicy } from '../../targets/dial-policy.ts';
import { normalizeServer } from '../../targets/policy/registration.ts';

export interface AddressCheck {
  /** Origin of the address, for messages, such as `context "kind-a"`. */
  readonly source: string;
  /** True to accept loopback addresses, because Purser runs on this machine. */
  readonly allowLoopback: boolean;
  readonly findAddresses: NameLookup;
}

/**
 * Throws a StartError for an address that Purser cannot use: any string other than a host or an https URL without user, query, fragment,
 * escapes and dot segments; a loopback address, unless `allowLoopback` is true; or a link-local, multicast, reserved or metadata address.
 */
export async function checkAddress(server: string, { source, allowLoopback, findAddresses }: AddressCheck): Promise<void> {
  const url = normalizeServer(server);
  if (url === undefined)
    throw new StartError(
      `${server} in ${source} is neither a host nor an https URL without user, query, fragment, escapes and dot segments. Set --server to such an address`,
    );
  const addresses = await resolveHost(new URL(url).hostname.replace(/^\[|\]$/g, ''), findAddresses);
  if (!addresses.every(createDialPolicy({ allowLoopback: true })))
    throw new StartError(
      `Purser does not connect to ${server} in ${source}: the address is link-local, multicast, reserved, or that of a metadata service. Set --server to another address`,
    );
  if (!allowLoopback && !addresses.every(createDialPolicy({ allowLoopback: false })))
    throw new StartError(`${server} in ${source} ${LOOPBACK_PROBLEM}`);
}

const LOOPBACK_PROBLEM =
  'is a loopback address, which the hub cannot reach. Set --server to an address that the hub can reach (for a kind cluster, the address in the output of kind get kubeconfig --internal --name CLUSTER), or set --allow-loopback if Purser runs on this machine';

/** Returns the IP addresses of a host. Returns none if this machine cannot resolve the name, because the hub may be able to resolve it. */
async function resolveHost(host: string, findAddresses: NameLookup): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1'];
  const found = await findAddresses(host).catch(() => []);
  return found.map(({ address }) => address);
}
