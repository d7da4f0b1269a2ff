// Connections through a CONNECT proxy. TLS to the server passes through the tunnel: the proxy learns only the server's host and port.
// Errors contain neither the address nor the password of the proxy: not every user who can read a Cluster's conditions can read the Secret
// with the proxy's URL.

import { isIP } from 'node:net';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { codeOf, TransportError } from './transport-error.ts';

/** Codes of errors that occur before a tunnel to the server exists; the server has received nothing. */
export const ProxyErrorCode = {
  /** No connection to the proxy, or no response from it. */
  unreachable: 'ERR_PROXY_UNREACHABLE',
  /** The proxy rejects the tunnel: wrong password, or a server that it does not allow. */
  rejected: 'ERR_PROXY_REJECTED',
  /** The proxy reports that it cannot connect to the server. */
  failed: 'ERR_PROXY_TUNNEL_FAILED',
  /** The proxy does not open the tunnel in time, for example because the server does not respond. */
  timeout: 'ERR_PROXY_TUNNEL_TIMEOUT',
} as const;

export interface ProxyOptions extends Omit<ProxyAgent.Options, 'clientFactory' | 'uri'> {
  /** URL of the proxy, with user and password if it requires them. */
  readonly proxyUrl: string;
  /** Maximum time to connect to the proxy, and to negotiate TLS with the server, in milliseconds. */
  readonly connectTimeout: number;
  /** Maximum time for the proxy to open a tunnel, in milliseconds. */
  readonly tunnelTimeout: number;
}

/** Creates a pool of connections through a proxy. Verifies the certificate of an https proxy with Node's root certificates. */
export function createProxyAgent({ proxyUrl, connectTimeout, tunnelTimeout, proxyTls, ...options }: ProxyOptions): Dispatcher {
  return new ProxyAgent({
    ...options,
    connectTimeout,
    uri: proxyUrl,
    proxyTls: { ...proxyTls, allowH2: false, rejectUnauthorized: true },
    clientFactory: (origin, { connect }: { readonly connect: Connector }) =>
      new TunnelPool(origin, { connect: omitAddressName(connect), headersTimeout: tunnelTimeout }),
  });
}

type Connector = buildConnector.connector;

/** Returns a connector that omits a TLS server name that is an IP address, as RFC 6066 requires; the certificate is still verified. */
function omitAddressName(connect: Connector): Connector {
  return ({ servername = '', ...options }, callback) => connect(isIP(servername) === 0 ? { servername, ...options } : options, callback);
}

/** Opens tunnels; converts every failure of a tunnel to a TransportError. */
class TunnelPool extends Pool {
  override connect(options: ConnectOptions): Promise<Dispatcher.ConnectData>;
  override connect(options: ConnectOptions, callback: (error: Error | null, data: Dispatcher.ConnectData) => void): never;
  override async connect(options: ConnectOptions): Promise<Dispatcher.ConnectData> {
    const tunnel = await super.connect(options).catch((error: unknown) => {
      throw toProxyError(error);
    });
    if (tunnel.statusCode === 200) return tunnel;
    tunnel.socket.on('error', () => {}).destroy();
    throw toRejectionError(tunnel.statusCode);
  }
}

type ConnectOptions = Parameters<Pool['connect']>[0];

function toProxyError(error: unknown): TransportError {
  const code = codeOf(error);
  if (code === 'ERR_ADDRESS_REFUSED') return new TransportError(code, PROXY_ADDRESS_REFUSED);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return new TransportError(ProxyErrorCode.timeout, 'the proxy did not open a tunnel in time');
  return new TransportError(OWN_FAULTS.has(code) ? code : ProxyErrorCode.unreachable, `connection to the proxy failed with ${code}`);
}

/** Codes of errors that a lack of resources on this machine causes. */
const OWN_FAULTS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

function toRejectionError(status: number): TransportError {
  if (status < 500) return new TransportError(ProxyErrorCode.rejected, `the proxy rejected the tunnel with status ${status}`);
  return new TransportError(ProxyErrorCode.failed, `the proxy could not connect to the cluster, and responded with status ${status}`);
}

/** Message for a proxy at an address that is not allowed. */
export const PROXY_ADDRESS_REFUSED = 'connections to the address of the proxy are not allowed';
