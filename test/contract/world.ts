// Creates objects for tests, and checks that a server serves a path or allows a request.

import { type Body, createSender } from './requests.ts';
import type { ContractServer } from './server.ts';

/** Creates an object as the administrator, and returns it; throws if POST fails. */
export async function create(server: ContractServer, path: string, object: object): Promise<Body> {
  const response = await createSender(server)(path, { body: object });
  if (response.status !== 201) throw new Error(`POST ${path} returned ${JSON.stringify(response)}`);
  return response.body;
}

/** Throws unless GET of `path` by the administrator returns 200. */
export async function expectServed(server: ContractServer, path: string): Promise<void> {
  const response = await createSender(server)(path);
  if (response.status !== 200) throw new Error(`GET ${path} returned ${JSON.stringify(response)}`);
}

/** Throws unless a SubjectAccessReview allows `user` the request with these attributes. */
export async function expectAllowed(server: ContractServer, user: string, resourceAttributes: object): Promise<void> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } };
  const { body } = await createSender(server)('/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review });
  const status = body['status'] as { readonly allowed?: boolean } | undefined;
  if (status?.allowed !== true) throw new Error(`user ${user} is not allowed: ${JSON.stringify(body)}`);
}
