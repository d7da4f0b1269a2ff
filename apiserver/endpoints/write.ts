// Endpoints of POST, PUT, PATCH and DELETE.

import { forbiddenValue } from '../../src/kubernetes/field-error.ts';
import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { encodeList } from '../../src/kubernetes/representation.ts';
import { DELETE_OPTIONS } from '../../src/kubernetes/reviews.ts';
import { badRequest, hasReason } from '../../src/kubernetes/status.ts';
import { parseBodyMediaType, parsePatchType } from '../../src/kubernetes/wire/content-type.ts';
import { messageOf, missingField } from '../../src/kubernetes/wire/document.ts';
import { apiVersionOf, withDefaultType } from '../../src/kubernetes/wire/group-version-kind.ts';
import { checkOptions, type DeleteOptions, dryRunErrors, parsePatchOptions, parseWriteOptions } from '../../src/kubernetes/wire/options.ts';
import { orderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import { flag } from '../../src/kubernetes/wire/query.ts';
import { readTypedBody } from '../../src/kubernetes/wire/typed-body.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { notSupported } from '../unsupported.ts';
import type { Api, RequestTarget } from '../verbs/api.ts';
import { applyObject } from '../verbs/apply.ts';
import { createObject } from '../verbs/create.ts';
import { type Deletion, deleteObject } from '../verbs/delete.ts';
import { listObjects } from '../verbs/list.ts';
import { patchObject } from '../verbs/patch.ts';
import { updateObject } from '../verbs/update.ts';
import { decodeBody, type KindRequest, negotiateRepresentation, objectReply, targetOf, viewOf, writerOf } from './endpoint.ts';
import { parseSelection } from './read.ts';

export async function createEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const mediaType = parseBodyMediaType(request.contentType);
  const body = await request.body();
  const options = parseWriteOptions(request.query, 'CreateOptions');
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const object = createObject(api, targetOf(request), request.kind.rules.applyDefaults(decoded), writerOf(request, options));
  return objectReply(api, request, representation, { status: 201, object });
}

export async function updateEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const body = await request.body();
  const options = parseWriteOptions(request.query, 'UpdateOptions');
  const mediaType = parseBodyMediaType(request.contentType);
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const object = updateObject(api, targetOf(request), request.kind.rules.applyDefaults(decoded), writerOf(request, options));
  return objectReply(api, request, representation, { status: 200, object });
}

export async function deleteEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const options = parseDeleteOptions(request.query, await request.body(), request.contentType);
  const target = targetOf(request);
  const deletion = deleteObject(api, target, options);
  if (!deletion.removed || target.kind.rules.deleteReturnsObject) {
    return objectReply(api, request, representation, { status: 200, object: deletion.object });
  }
  return textReply(200, orderedJson(successStatus(target, deletion)), representation);
}

/** Deletes the selected objects one by one; responds with the objects as they were before the deletion. */
export async function deleteCollectionEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const target = targetOf(request);
  const { options, selection } = parseSelection(request, target.namespace);
  const deletion = parseDeleteOptions(request.query, await request.body(), request.contentType);
  const page = await listObjects(api, target, selection, options);
  for (const { metadata } of page.items) {
    deleteListed(api, { ...target, namespace: metadata.namespace ?? '', name: metadata.name }, deletion);
  }
  return textReply(200, encodeList(page, viewOf(api, request, representation.as)), representation);
}

/** Deletes a listed object; does nothing if the object no longer exists. */
function deleteListed(api: Api, target: RequestTarget, options: DeleteOptions): void {
  try {
    deleteObject(api, target, options);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

function successStatus({ kind, name }: RequestTarget, { object }: Deletion): object {
  const { group, plural } = kind;
  const details = { name, ...(group !== '' && { group }), kind: plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** Parses the DeleteOptions of a request; ignores unknown fields of the body. Throws 400 or 415, and 422 for an invalid option. */
export function parseDeleteOptions(query: URLSearchParams, body: Buffer, contentType: string | undefined): DeleteOptions {
  const options = body.length > 0 ? fromBody(body, contentType) : fromQuery(query);
  const { dryRun = [], orphanDependents, propagationPolicy = 'Background', preconditions } = options;
  const policy = orphanDependents ? 'Orphan' : propagationPolicy;
  const unsupported = forbiddenValue('propagationPolicy', notSupported(`the propagation policy ${policy}`));
  checkOptions('DeleteOptions', [...(policy === 'Background' ? [] : [unsupported]), ...dryRunErrors(dryRun)]);
  return { dryRun: dryRun.length > 0, ...(preconditions && { preconditions }) };
}

/** Fields of DeleteOptions that the server uses, before validation. */
interface RequestedOptions extends Pick<DeleteOptions, 'preconditions'> {
  readonly dryRun?: readonly string[];
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
}

function fromBody(body: Buffer, contentType: string | undefined): RequestedOptions {
  const mediaType = parseBodyMediaType(contentType);
  try {
    const { type, decode } = readTypedBody(body, mediaType);
    const { kind, ...groupVersion } = withDefaultType(type, { group: '', version: 'v1', kind: 'DeleteOptions' });
    if (groupVersion.version === '') throw new Error(missingField('apiVersion', body));
    if (kind !== 'DeleteOptions') throw new Error(notRegistered(kind, apiVersionOf(groupVersion)));
    return decode(DELETE_OPTIONS).value;
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function notRegistered(kind: string, apiVersion: string): string {
  return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;
}

function fromQuery(query: URLSearchParams): RequestedOptions {
  const propagationPolicy = query.get('propagationPolicy');
  const preconditions = preconditionsOf(query);
  return {
    ...(query.has('orphanDependents') && { orphanDependents: flag(query, 'orphanDependents') }),
    ...(propagationPolicy !== null && { propagationPolicy }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    dryRun: query.getAll('dryRun'),
  };
}

function preconditionsOf(query: URLSearchParams): NonNullable<DeleteOptions['preconditions']> {
  const uid = query.get('uid');
  const resourceVersion = query.get('resourceVersion');
  return { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
}

const APPLY = 'application/apply-patch+yaml';

export async function patchEndpoint(api: Api, request: KindRequest): Promise<Reply> {
  const type = parsePatchType(request.contentType, request.kind.builtIn);
  const target = targetOf(request);
  const representation = negotiateRepresentation(request);
  const body = await request.body();
  const options = parsePatchOptions(request.query, type === APPLY);
  const writer = writerOf(request, options);
  const { object, created } =
    type === APPLY
      ? applyObject(api, target, { ...options, body }, writer)
      : { object: patchObject(api, target, { ...options, body, type }, writer), created: false };
  return objectReply(api, request, representation, { status: created ? 201 : 200, object });
}
