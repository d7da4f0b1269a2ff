// Endpoints of reviews and of the token subresource: the server evaluates the posted objects and does not store them.

import { createTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { encodeVirtualObject } from '../../src/kubernetes/representation.ts';
import type { ReviewKind } from '../../src/kubernetes/reviews.ts';
import { methodNotAllowed, pathNotFound } from '../../src/kubernetes/status.ts';
import { TOKEN_REQUEST_KIND } from '../../src/kubernetes/token-request.ts';
import { parseBodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import type { ExpectedKind } from '../../src/kubernetes/wire/decode-request.ts';
import { negotiate } from '../../src/kubernetes/wire/negotiate.ts';
import { parseWriteOptions, resolveFieldManager } from '../../src/kubernetes/wire/options.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import { evaluateReview } from '../reviews/review.ts';
import { createToken } from '../reviews/token.ts';
import { admitCreate } from '../verbs/create.ts';
import { type AccessApi, decodeBody, type KindRequest, toTarget } from './endpoint.ts';

export async function handleReview(
  api: AccessApi,
  request: ApiRequest & { readonly info: ResourceRequest },
  kind: ReviewKind,
): Promise<Reply> {
  const { namespace, parts, verb } = request.info;
  if (parts.length > 1 || namespace !== '') throw pathNotFound();
  if (verb !== 'create') throw methodNotAllowed();
  const shownKind = { ...kind, builtIn: true };
  const { representation, ...posted } = await readPosted(api, request, shownKind);
  const context = { user: request.user, policy: api.policy, authenticators: api.authenticators, now: api.now() };
  const review = await evaluateReview(kind, posted, context);
  return createTextReply(201, encodeVirtualObject(review, shownKind, representation.as), representation);
}

export async function handleTokenRequest(api: AccessApi, request: KindRequest): Promise<Reply> {
  const { representation, ...posted } = await readPosted(api, request, TOKEN_REQUEST_KIND);
  const { kind, namespace, name } = toTarget(request);
  const admit = () => admitCreate(api, kind, { apiVersion: 'v1', kind: kind.kind, metadata: { namespace, name } });
  const issued = await createToken({ ...posted, namespace, name, admit }, api.tokenIssuer, api.now());
  return createTextReply(201, encodeVirtualObject(issued, TOKEN_REQUEST_KIND, representation.as), representation);
}

/** Negotiates the representation, and decodes the body and options. Throws 400, 406, 413, 415 or 422. */
async function readPosted(api: AccessApi, request: ApiRequest, kind: ExpectedKind) {
  const representation = negotiate(request.preferences, { builtIn: true, tables: false });
  const mediaType = parseBodyMediaType(request.contentType);
  const body = await request.body();
  const { fieldManager, fieldValidation } = parseWriteOptions(request.query, 'CreateOptions');
  const object = decodeBody(api, request, { body, mediaType, kind, fieldValidation });
  return { representation, object, manager: resolveFieldManager(fieldManager, request.userAgent) };
}
