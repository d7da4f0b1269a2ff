// Making the objects that tests start from.

import type { ContractServer } from './server.ts';

/** Creates an object as administrator; throws the answer unless it was created. */
export async function create(server: ContractServer, path: string, object: object): Promise<void> {
  const headers = { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json' };
  const { status, body } = await server.request('POST', path, { headers, body: JSON.stringify(object) });
  if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${body}`);
}

/** Throws unless an administrator's GET of `path` answers 200. */
export async function isServed(server: ContractServer, path: string): Promise<void> {
  const { status, body } = await server.request('GET', path, { headers: { authorization: `Bearer ${server.tokens.admin}` } });
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${body}`);
}

/** Throws unless `user` may do what the attributes of a SubjectAccessReview say. */
export async function isAllowed(server: ContractServer, user: string, resourceAttributes: object): Promise<void> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const headers = { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json' };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } };
  const { body } = await server.request('POST', path, { headers, body: JSON.stringify(review) });
  const { status } = JSON.parse(body) as { status?: { allowed?: boolean } };
  if (status?.allowed !== true) throw new Error(`${user} is not allowed: ${body}`);
}
