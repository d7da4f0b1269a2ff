// PATCH in its four forms.

import type { Reply } from '../../src/kubernetes/reply.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { patchType } from '../../src/kubernetes/wire/content-type.ts';
import { patchOptions } from '../../src/kubernetes/wire/options.ts';
import type { Api } from '../verbs/api.ts';
import { applyObject } from '../verbs/apply.ts';
import { patchObject } from '../verbs/patch.ts';
import { type KindRequest, objectReply, representationOf, targetOf, writerOf } from './endpoint.ts';

const APPLY = 'application/apply-patch+yaml';

export async function patchEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const type = patchType(request.contentType, request.kind.builtIn);
  const target = targetOf(request);
  if (target.name === '') throw badRequest('name must be provided');
  const representation = representationOf(request);
  const body = await request.body();
  const options = patchOptions(request.query, type === APPLY);
  const writer = writerOf(request, options);
  const { object, created } =
    type === APPLY
      ? applyObject(api, target, { ...options, body }, writer)
      : { object: patchObject(api, target, { ...options, body, type }, writer), created: false };
  return objectReply(api, request, representation, { status: created ? 201 : 200, object });
}
