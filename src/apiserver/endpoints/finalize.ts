// PUT of a namespace's finalizers.

import type { Reply } from '../reply.ts';
import type { Api } from '../verbs/api.ts';
import { finalizeObject } from '../verbs/finalize.ts';
import { bodyMediaType } from '../wire/content-type.ts';
import { writeOptions } from '../wire/options.ts';
import { decodeBody } from './decode-body.ts';
import { type KindRequest, objectReply, representationOf, targetOf, writerOf } from './endpoint.ts';

export async function finalizeEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = representationOf(request);
  const body = await request.body();
  const options = writeOptions(request.query, 'UpdateOptions');
  const { kind } = request;
  const next = decodeBody(api, request, {
    body,
    mediaType: bodyMediaType(request.contentType),
    kind,
    fieldValidation: options.fieldValidation,
  });
  const object = finalizeObject(api, targetOf(request), kind.rules.defaulted(next), writerOf(request, options));
  return objectReply(api, request, representation, { status: 200, object });
}
