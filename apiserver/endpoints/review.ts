// Endpoints of objects that are never stored: reviews, and the token subresource of service accounts.

import type { Policy } from '../../src/kubernetes/rbac.ts';
import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { encodeVirtualObject } from '../../src/kubernetes/representation.ts';
import type { ReviewKind } from '../../src/kubernetes/reviews.ts';
import { methodNotAllowed, pathNotFound } from '../../src/kubernetes/status.ts';
import { TOKEN_REQUEST_KIND } from '../../src/kubernetes/token-request.ts';
import { bodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { negotiate } from '../../src/kubernetes/wire/negotiate.ts';
import { fieldManagerName, writeOptions } from '../../src/kubernetes/wire/options.ts';
import type { Authenticators } from '../access/authenticate.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import { answerReview } from '../reviews/review.ts';
import { createToken, type TokenIssuance } from '../reviews/token.ts';
import type { Api } from '../verbs/api.ts';
import { admitCreate } from '../verbs/create.ts';
import { decodeBody, type KindRequest, targetOf } from './endpoint.ts';

/** The world as endpoints see it: objects, and who may do what with them. */
export interface AccessApi extends Api {
  readonly policy: Policy;
  readonly authenticators: Authenticators;
  readonly issuance: TokenIssuance;
}

export async function reviewEndpoint(
  api: AccessApi,
  request: ApiRequest & { readonly info: ResourceRequest },
  kind: ReviewKind,
): Promise<Reply> {
  const { namespace, parts, verb } = request.info;
  if (parts.length > 1 || namespace !== '') throw pathNotFound();
  if (verb !== 'create') throw methodNotAllowed();
  const representation = negotiate(request.preferences, { builtIn: true, tables: false });
  const mediaType = bodyMediaType(request.contentType);
  const body = await request.body();
  const options = writeOptions(request.query, 'CreateOptions');
  const object = decodeBody(api, request, { body, mediaType, kind: { ...kind, builtIn: true }, fieldValidation: options.fieldValidation });
  const manager = fieldManagerName(options.fieldManager, request.userAgent);
  const context = { user: request.user, policy: api.policy, authenticators: api.authenticators, now: api.now() };
  const answered = await answerReview(kind, { object, manager }, context);
  return textReply(201, encodeVirtualObject(answered, { ...kind, builtIn: true }, representation.as), representation);
}

export async function tokenEndpoint(api: AccessApi, request: KindRequest): Promise<Reply> {
  const representation = negotiate(request.preferences, { builtIn: true, tables: false });
  const mediaType = bodyMediaType(request.contentType);
  const body = await request.body();
  const { fieldManager, fieldValidation } = writeOptions(request.query, 'CreateOptions');
  const object = decodeBody(api, request, { body, mediaType, kind: TOKEN_REQUEST_KIND, fieldValidation });
  const { kind, namespace, name } = targetOf(request);
  const posted = {
    object,
    namespace,
    name,
    manager: fieldManagerName(fieldManager, request.userAgent),
    admit: () => admitCreate(api, kind, { apiVersion: 'v1', kind: kind.kind, metadata: { namespace, name } }),
  };
  const answered = await createToken(posted, api.issuance, api.now());
  return textReply(201, encodeVirtualObject(answered, TOKEN_REQUEST_KIND, representation.as), representation);
}
