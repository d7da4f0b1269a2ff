// Load on the façade through its Service: callers that keep their connections, half of them with HTTP/2, and list clusters or request tokens
// several times a second.

import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest } from '../support/api-request.ts';
import { Http2Caller, type Http2Request } from './http2-caller.ts';
import { createToken, facadeUrl, purserAgent, purserTls } from './world.ts';

const TOKEN_PATH = '/orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
const CALLERS = 8;
/** Pause of a caller between requests, in milliseconds. All callers together stay below the rate limit of one user. */
const PAUSE_MS = 100;
/** Interval, in requests, at which each caller requests a token instead of a list. */
const TOKEN_EVERY = 10;

/** Running load. */
export interface Load {
  /** Stops all callers. Returns the number of responses, and the requests that failed. */
  readonly stop: () => Promise<{ readonly responses: number; readonly failures: readonly string[] }>;
}

/** Starts callers with the service account of the sample ci-deployer. */
export async function startLoad(): Promise<Load> {
  const headers = { authorization: `Bearer ${await createToken('team-a', 'ci')}`, 'content-type': 'application/json' };
  const url = await facadeUrl();
  const agents = await Promise.all(Array.from({ length: CALLERS / 2 }, () => purserAgent(true)));
  const tls = await purserTls();
  const others = Array.from({ length: CALLERS / 2 }, () => new Http2Caller(url, tls));
  const failures: string[] = [];
  const stopping = new AbortController();
  let responses = 0;
  const call = async (send: (request: Http2Request) => Promise<number>) => {
    for (let count = 1; !stopping.signal.aborted; count++) {
      const [method, path, expected] =
        count % TOKEN_EVERY === 0 ? (['POST', TOKEN_PATH, 201] as const) : (['GET', '/auth/v1/clusters', 200] as const);
      const body = method === 'POST' ? { body: JSON.stringify({ spec: { audiences: ['https://kubernetes.default.svc'] } }) } : {};
      try {
        const status = await send({ method, path, headers, ...body });
        if (status !== expected) failures.push(`${method} ${path}: ${status}`);
        responses++;
      } catch (error) {
        failures.push(`${method} ${path}: ${String(error)} at ${new Date().toISOString()}`);
      }
      await delay(PAUSE_MS);
    }
  };
  const callers = [
    ...agents.map((agent) => call(async ({ method, path, ...rest }) => (await sendRequest({ url, agent }, method, path, rest)).status)),
    ...others.map((caller) => call((request) => caller.send(request))),
  ];
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(callers);
      for (const caller of [...agents, ...others]) caller.destroy();
      return { responses, failures };
    },
  };
}
