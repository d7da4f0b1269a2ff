// POST, PUT and DELETE.

import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { showList } from '../../src/kubernetes/representation.ts';
import { badRequest, hasReason } from '../../src/kubernetes/status.ts';
import { bodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { type DeleteOptions, writeOptions } from '../../src/kubernetes/wire/options.ts';
import { orderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import type { Api, Target } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { type Deletion, deleteObject } from '../verbs/delete.ts';
import { listObjects } from '../verbs/list.ts';
import { updateObject } from '../verbs/update.ts';
import { decodeBody } from './decode-body.ts';
import { deleteOptions } from './delete-options.ts';
import { type KindRequest, objectReply, representationOf, targetOf, viewOf, writerOf } from './endpoint.ts';
import { selected } from './read.ts';

export async function createEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = representationOf(request);
  const mediaType = bodyMediaType(request.contentType);
  const body = await request.body();
  const options = writeOptions(request.query, 'CreateOptions');
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const object = createObject(api, targetOf(request), request.kind.rules.defaulted(decoded), writerOf(request, options));
  return objectReply(api, request, representation, { status: 201, object });
}

export async function updateEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  if (request.info.name === '') throw badRequest('name must be provided');
  const representation = representationOf(request);
  const body = await request.body();
  const options = writeOptions(request.query, 'UpdateOptions');
  const mediaType = bodyMediaType(request.contentType);
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const { object, created } = updateObject(api, targetOf(request), request.kind.rules.defaulted(decoded), writerOf(request, options));
  return objectReply(api, request, representation, { status: created ? 201 : 200, object });
}

export async function deleteEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = representationOf(request);
  const options = deleteOptions(request.query, await request.body(), request.contentType);
  const target = targetOf(request);
  const deletion = deleteObject(api, target, options);
  if (!deletion.gone || target.kind.rules.deleteReturnsObject) {
    // Who asks for the dependents to go, too, in the old way is told that this takes time.
    const status = !deletion.gone && options.orphanDependents === false ? 202 : 200;
    return objectReply(api, request, representation, { status, object: deletion.object });
  }
  return textReply(200, orderedJson(success(target, deletion)), representation);
}

/** Deletes everything that is selected, one by one; the answer is the list of it, as it was. */
export async function deleteCollectionEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = representationOf(request);
  const target = targetOf(request);
  const { options, selection } = selected(request, target.namespace);
  const deletion = deleteOptions(request.query, await request.body(), request.contentType);
  const page = await listObjects(api, target, selection, options);
  for (const { metadata } of page.items) {
    deletePresent(api, { ...target, namespace: metadata.namespace ?? '', name: metadata.name ?? '' }, deletion);
  }
  return textReply(200, showList(page, viewOf(api, request, representation.as)), representation);
}

/** Deletes an object of a list that may be of the past: what is gone already needs no deletion. */
function deletePresent(api: Api, target: Target, options: DeleteOptions): void {
  try {
    deleteObject(api, target, options);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

function success({ kind, name }: Target, { object }: Deletion): object {
  const { group, plural } = kind;
  const details = { name, ...(group !== '' && { group }), kind: plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
