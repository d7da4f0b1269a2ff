// Sends requests of a command to the hub or to a target cluster, and explains failed requests.

import { Namespaces } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { TransportError } from '../../kube/transport-error.ts';
import { hasReason, StatusError } from '../../kubernetes/status.ts';
import { cleanMessage } from '../../std/clean-message.ts';
import { toStatusFailure, toTransportFailure } from '../../targets/issue-error.ts';
import { CommandError } from '../command.ts';
import type { ClusterChoice } from '../quote-shell.ts';

/** The hub or a target cluster. */
export interface Peer extends ClusterChoice {
  readonly role: 'hub' | 'target cluster';
  readonly client: KubeClient;
}

/** Calls `send`. Converts a StatusError or TransportError to a CommandError with the cause and any known remedy; rethrows other errors. */
export async function callPeer<T>(peer: Peer, send: (client: KubeClient) => Promise<T>): Promise<T> {
  try {
    return await send(peer.client);
  } catch (error) {
    const explanation = explainFailure(peer, error);
    throw explanation === undefined ? error : new CommandError(explanation);
  }
}

/** Returns the cause and any known remedy of a StatusError or TransportError; undefined for other errors. */
export function explainFailure(peer: Peer, error: unknown): string | undefined {
  if (error instanceof StatusError) return explainStatus(peer, error);
  return error instanceof TransportError ? explainTransport(peer, error) : undefined;
}

/** Returns a phrase that names the context of a peer, for messages. */
export function formatContext({ context }: Pick<Peer, 'context'>): string {
  return context === undefined ? 'the current context' : `context ${JSON.stringify(context)}`;
}

function explainStatus(peer: Peer, error: StatusError): string {
  const { role } = peer;
  const choice = `the context of the ${role}`;
  const text = cleanMessage(error.message).replace(/\.$/, '');
  const { reason } = toStatusFailure(error);
  if (reason === 'CredentialRejected')
    return `the ${role} rejects the credential of ${formatContext(peer)}. Log in again, or check ${choice}`;
  if (reason === 'TargetForbidden' || text.includes('attempting to grant RBAC permissions'))
    return `the ${role} responded: ${text}. Grant the user of ${formatContext(peer)} this permission, or check ${choice}`;
  if (hasReason(error, 'Conflict', 'AlreadyExists')) return `the ${role} responded: ${text}. Run the command again`;
  if (isMissingNamespace(error)) return `the ${role} responded: ${text}. Create the namespace, or correct the option that names it`;
  if (isUnknownKind(error))
    return role === 'hub'
      ? `the hub does not serve Purser's resources. Install Purser there, or check ${choice}`
      : `the target cluster does not serve a resource that the command needs. Check ${choice}`;
  return `the ${role} responded: ${text}`;
}

/** Returns whether the server does not serve the requested kind: a 404 for an unknown path names no object. */
function isUnknownKind(error: StatusError): boolean {
  return hasReason(error, 'NotFound') && error.status.details?.name === undefined;
}

function isMissingNamespace(error: StatusError): boolean {
  return hasReason(error, 'NotFound') && error.status.details?.kind === Namespaces.plural;
}

function explainTransport(peer: Peer, error: TransportError): string {
  const { role, client } = peer;
  const { server } = client.transport;
  const context = formatContext(peer);
  const { reason } = toTransportFailure(error);
  const plugin = /no credentials for \S+ (.*)$/.exec(error.message)?.[1];
  if (plugin !== undefined) return `cannot authenticate to the ${role}: ${cleanMessage(plugin)}. Check the user of ${context}`;
  if (reason === 'TLSVerifyFailed')
    return `the certificate of ${server} is not trusted (${error.code}). Check certificate-authority-data and the address of ${context}`;
  if (reason === 'CredentialRejected')
    return `the ${role} rejects the client certificate of ${context}. Log in again, or check the context of the ${role}`;
  if (error.code === 'EMSGSIZE') return `the response from ${server} is too large. Check the address of ${context}`;
  if (reason === 'ResponseUntrusted') return `${server} is not a Kubernetes API server. Check the address of ${context}`;
  return `cannot connect to the ${role} at ${server} (${error.code}). Check the network and the address of ${context}`;
}
