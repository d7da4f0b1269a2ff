// Endpoints of POST, PUT, PATCH and DELETE.

import { forbiddenValue } from '../../src/kubernetes/field-error.ts';
import { apiVersionOf } from '../../src/kubernetes/object.ts';
import { createTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { encodeList } from '../../src/kubernetes/representation.ts';
import { DELETE_OPTIONS } from '../../src/kubernetes/reviews.ts';
import { badRequest, hasReason } from '../../src/kubernetes/status.ts';
import { parseBodyMediaType, parsePatchType } from '../../src/kubernetes/wire/content-type.ts';
import { readTypedBody } from '../../src/kubernetes/wire/decode.ts';
import { formatMissingField, messageOf } from '../../src/kubernetes/wire/document.ts';
import { withDefaultType } from '../../src/kubernetes/wire/group-version-kind.ts';
import {
  checkOptions,
  type DeleteOptions,
  parsePatchOptions,
  parseWriteOptions,
  validateDryRun,
} from '../../src/kubernetes/wire/options.ts';
import { encodeOrderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import { readFlag } from '../../src/kubernetes/wire/query.ts';
import { quoteGoString } from '../../src/std/go-text.ts';
import { notSupported } from '../unsupported.ts';
import type { Api, RequestTarget } from '../verbs/api.ts';
import { applyObject } from '../verbs/apply.ts';
import { createObject } from '../verbs/create.ts';
import { type Deletion, deleteObject } from '../verbs/delete.ts';
import { listObjects } from '../verbs/list.ts';
import { patchObject } from '../verbs/patch.ts';
import { updateObject } from '../verbs/update.ts';
import { createObjectReply, createView, decodeBody, type KindRequest, negotiateRepresentation, toTarget, toWriter } from './endpoint.ts';
import { parseSelection } from './read.ts';

export async function handleCreate(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const mediaType = parseBodyMediaType(request.contentType);
  const body = await request.body();
  const options = parseWriteOptions(request.query, 'CreateOptions');
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const object = createObject(api, toTarget(request), request.kind.rules.applyDefaults(decoded), toWriter(request, options));
  return createObjectReply(api, request, representation, { status: 201, object });
}

export async function handleUpdate(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const body = await request.body();
  const options = parseWriteOptions(request.query, 'UpdateOptions');
  const mediaType = parseBodyMediaType(request.contentType);
  const decoded = decodeBody(api, request, { body, mediaType, kind: request.kind, fieldValidation: options.fieldValidation });
  const object = updateObject(api, toTarget(request), request.kind.rules.applyDefaults(decoded), toWriter(request, options));
  return createObjectReply(api, request, representation, { status: 200, object });
}

export async function handleDelete(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const options = parseDeleteOptions(request.query, await request.body(), request.contentType);
  const target = toTarget(request);
  const deletion = deleteObject(api, target, options);
  if (!deletion.removed || target.kind.rules.deleteReturnsObject) {
    return createObjectReply(api, request, representation, { status: 200, object: deletion.object });
  }
  return createTextReply(200, encodeOrderedJson(toSuccessStatus(target, deletion)), representation);
}

/** Deletes the selected objects one by one; responds with the objects as they were before the deletion. */
export async function handleDeleteCollection(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const target = toTarget(request);
  const { options, selection } = parseSelection(request, target.namespace);
  const deletion = parseDeleteOptions(request.query, await request.body(), request.contentType);
  const page = await listObjects(api, target, selection, options);
  for (const { metadata } of page.items) {
    deleteListed(api, { ...target, namespace: metadata.namespace ?? '', name: metadata.name }, deletion);
  }
  return createTextReply(200, encodeList(page, createView(api, request, representation.as)), representation);
}

/** Deletes a listed object; does nothing if the object no longer exists. */
function deleteListed(api: Api, target: RequestTarget, options: DeleteOptions): void {
  try {
    deleteObject(api, target, options);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

function toSuccessStatus({ kind, name }: RequestTarget, { object }: Deletion): object {
  const { group, plural } = kind;
  const details = { name, ...(group !== '' && { group }), kind: plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** Parses the DeleteOptions of a request; ignores unknown fields of the body. Throws 400 or 415, and 422 for an invalid option. */
export function parseDeleteOptions(query: URLSearchParams, body: Buffer, contentType: string | undefined): DeleteOptions {
  const options = body.length > 0 ? decodeBodyOptions(body, contentType) : parseQueryOptions(query);
  const { dryRun = [], orphanDependents, propagationPolicy = 'Background', preconditions } = options;
  const policy = orphanDependents ? 'Orphan' : propagationPolicy;
  const unsupported = forbiddenValue('propagationPolicy', notSupported(`the propagation policy ${policy}`));
  checkOptions('DeleteOptions', [...(policy === 'Background' ? [] : [unsupported]), ...validateDryRun(dryRun)]);
  return { dryRun: dryRun.length > 0, ...(preconditions && { preconditions }) };
}

/** Fields of DeleteOptions that the server uses, before validation. */
interface RequestedOptions extends Pick<DeleteOptions, 'preconditions'> {
  readonly dryRun?: readonly string[];
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
}

function decodeBodyOptions(body: Buffer, contentType: string | undefined): RequestedOptions {
  const mediaType = parseBodyMediaType(contentType);
  try {
    const { type, decode } = readTypedBody(body, mediaType);
    const { kind, ...groupVersion } = withDefaultType(type, { group: '', version: 'v1', kind: 'DeleteOptions' });
    if (groupVersion.version === '') throw new Error(formatMissingField('apiVersion', body));
    if (kind !== 'DeleteOptions') throw new Error(formatNotRegistered(kind, apiVersionOf(groupVersion)));
    return decode(DELETE_OPTIONS).value;
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function formatNotRegistered(kind: string, apiVersion: string): string {
  return `no kind ${quoteGoString(kind)} is registered for version ${quoteGoString(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;
}

function parseQueryOptions(query: URLSearchParams): RequestedOptions {
  const propagationPolicy = query.get('propagationPolicy');
  const preconditions = parsePreconditions(query);
  return {
    ...(query.has('orphanDependents') && { orphanDependents: readFlag(query, 'orphanDependents') }),
    ...(propagationPolicy !== null && { propagationPolicy }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    dryRun: query.getAll('dryRun'),
  };
}

function parsePreconditions(query: URLSearchParams): NonNullable<DeleteOptions['preconditions']> {
  const uid = query.get('uid');
  const resourceVersion = query.get('resourceVersion');
  return { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
}

const APPLY = 'application/apply-patch+yaml';

export async function handlePatch(api: Api, request: KindRequest): Promise<Reply> {
  const type = parsePatchType(request.contentType, request.kind.builtIn);
  const target = toTarget(request);
  const representation = negotiateRepresentation(request);
  const body = await request.body();
  const options = parsePatchOptions(request.query, type === APPLY);
  const writer = toWriter(request, options);
  const { object, created } =
    type === APPLY
      ? applyObject(api, target, { ...options, body }, writer)
      : { object: patchObject(api, target, { ...options, body, type }, writer), created: false };
  return createObjectReply(api, request, representation, { status: created ? 201 : 200, object });
}
