// Replays recorded token requests on the façade. The responses differ only as documented.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Recording, recordings } from '../support/golden.ts';
import { contractFacade } from './facade.ts';
import { itRespondsAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { CLUSTER, createTokenWorld, withoutManagedFields } from './token-world.ts';

type Response = Recording['response'];

const JSON_TYPE = { 'content-type': 'application/json' };

function failure(code: number, message: string, reason: string, more: object = {}): Response {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, ...more, code };
  return { status: code, headers: JSON_TYPE, body: `${JSON.stringify(status)}\n` };
}

const unauthorized: Response = {
  ...failure(401, 'Unauthorized', 'Unauthorized'),
  headers: { ...JSON_TYPE, 'www-authenticate': 'Bearer' },
};
const required = failure(422, 'TokenRequest.authentication.k8s.io "" is invalid: spec.audiences: Required value', 'Invalid', {
  details: {
    group: 'authentication.k8s.io',
    kind: 'TokenRequest',
    causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec.audiences' }],
  },
});
const noRoute = failure(404, 'the server could not find the requested resource', 'NotFound', { details: {} });
const missing = `: issue clusters/token \\"${CLUSTER}/team-a/builder\\" in registry.purser.dev`;
const forbidden = ({ body = '', ...rest }: Response): Response => ({
  ...rest,
  body: body.replace('in the namespace \\"team-a\\"', (text) => `${text}${missing}`),
});
const withAllow = (response: Response): Response => ({ ...response, headers: { ...response.headers, allow: 'POST' } });

/** Expected responses from the façade that differ from the recording, by the name of the recording. */
const DIFFERENCES: Readonly<Record<string, (recorded: Response) => Response>> = {
  'no-auth': () => unauthorized,
  'basic-auth': () => unauthorized,
  'bearer-two-words': () => unauthorized,
  'null-audiences': () => required,
  'no-spec': () => required,
  'null-body': () => required,
  'bound-node': () => failure(400, 'cannot bind token to object of type /v1, Kind=Node', 'BadRequest'),
  'dryrun-all': ({ body = '', ...rest }) => ({
    ...rest,
    body: body.replace(/"status":\{.*\}(?=\}\n$)/, '"status":{"token":"","expirationTimestamp":null}'),
  }),
  'impersonate-not-allowed': () => failure(400, 'the impersonate-user header is not supported', 'BadRequest'),
  forbidden,
  'forbidden-beats-bad-body': forbidden,
  'sa-bad-name': () => noRoute,
  'sa-encoded-slash': () => noRoute,
  'sa-dotdot': () => noRoute,
  'sa-encoded-dotdot': () => noRoute,
  'trailing-slash': () => noRoute,
  'method-GET': withAllow,
  'method-PATCH': withAllow,
  'method-HEAD': withAllow,
  'method-OPTIONS': withAllow,
};

const recorded = recordings('token-requests').map(({ response, ...recording }): Recording => {
  const { body } = response;
  return { ...recording, response: body === undefined ? response : { ...response, body: withoutManagedFields(body) } };
});

describe('token endpoint of the façade', () => {
  const server = contractServer({ issuer: 'https://hub.test' });
  beforeAll(() => createTokenWorld(server), 60_000);
  const facade = contractFacade(server);

  const expected = recorded.map(
    ({ response, ...recording }): Recording => ({ ...recording, response: DIFFERENCES[recording.name]?.(response) ?? response }),
  );
  itRespondsAsRecorded(
    { request: (method, path, request) => facade.request(method, `/orchestrator/${CLUSTER}${path}`, request) },
    expected,
  );

  it('differs from the recording in exactly the listed exchanges', () => {
    const changed = expected.filter(({ response }, index) => JSON.stringify(response) !== JSON.stringify(recorded[index]?.response));
    expect(changed.map(({ name }) => name).toSorted()).toEqual(Object.keys(DIFFERENCES).toSorted());
  });
});
