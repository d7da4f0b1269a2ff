// The address at which Purser reaches a target cluster.

import { isIP } from 'node:net';
import { StartError } from '../../config/start-error.ts';
import type { NameLookup } from '../../kube/addresses.ts';
import { createDialPolicy } from '../../targets/dial-policy.ts';
import { serverUrl } from '../../targets/policy/registration.ts';

export interface AddressCheck {
  /** Origin of the address for messages, such as `context "kind-a"`. */
  readonly source: string;
  /** True if Purser runs on this machine. */
  readonly allowLoopback: boolean;
  readonly findAddresses: NameLookup;
}

/**
 * Throws a StartError for an address that Purser cannot use: not an https URL, this machine, or an address that Purser never connects to.
 */
export async function checkAddress(server: string, { source, allowLoopback, findAddresses }: AddressCheck): Promise<void> {
  const url = serverUrl(server);
  if (url === undefined)
    throw new StartError(`${server} in ${source} is not an https URL without user, query and fragment; set --server to such an address`);
  const addresses = await addressesOf(new URL(url).hostname.replace(/^\[|\]$/g, ''), findAddresses);
  if (!addresses.every(createDialPolicy({ allowLoopback: true })))
    throw new StartError(
      `Purser does not connect to ${server} in ${source}: link-local or metadata address; set --server to another address`,
    );
  if (!allowLoopback && !addresses.every(createDialPolicy({ allowLoopback: false })))
    throw new StartError(`${server} in ${source} ${LOOPBACK}`);
}

const LOOPBACK =
  'is an address of this machine, which the hub cannot reach; set --server to an address that the hub can reach (with kind, that of kind get kubeconfig --internal), or set --allow-loopback if Purser runs on this machine';

/** Returns the IP addresses of a host as this machine resolves it; none for a name that only other machines may know. */
async function addressesOf(host: string, findAddresses: NameLookup): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1'];
  const found = await findAddresses(host).catch(() => []);
  return found.map(({ address }) => address);
}
