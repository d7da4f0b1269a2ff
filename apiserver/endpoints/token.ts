// The token subresource of service accounts.

import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { showAnswer } from '../../src/kubernetes/representation.ts';
import { TOKEN_REQUEST_KIND } from '../../src/kubernetes/token-request.ts';
import { bodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { negotiate } from '../../src/kubernetes/wire/negotiate.ts';
import { fieldManagerName, writeOptions } from '../../src/kubernetes/wire/options.ts';
import { createToken } from '../reviews/token.ts';
import { admitCreate } from '../verbs/admission.ts';
import { decodeBody } from './decode-body.ts';
import { type KindRequest, targetOf } from './endpoint.ts';
import type { AccessApi } from './review.ts';

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
    warn: request.warn,
  };
  const answered = await createToken(posted, api.issuance, api.now());
  return textReply(201, showAnswer(answered, TOKEN_REQUEST_KIND, representation.as), representation);
}
