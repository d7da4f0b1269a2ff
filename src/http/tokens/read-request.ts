// The TokenRequest of a caller: read as kube-apiserver reads it, and refused where it asks for what the façade does not give.

import { invalidValue, requiredValue } from '../../api/field-error.ts';
import { invalid } from '../../api/status.ts';
import { checkBoundKind } from '../../apimachinery/bound-object.ts';
import { reviewKinds } from '../../apimachinery/reviews.ts';
import {
  checkNamespace,
  defaultedTokenRequest,
  KIND,
  type PostedAccount,
  TOKEN_REQUEST_KIND,
  type TokenRequest,
} from '../../apimachinery/token-request.ts';
import { plainBodyMediaType } from '../../apimachinery/wire/content-type.ts';
import { decodeObject } from '../../apimachinery/wire/decode.ts';
import { fieldManagerName, writeOptions } from '../../apimachinery/wire/options.ts';
import { type BoundObject, isSilentlyExtended } from '../../domain/token-request.ts';
import type { FacadeRequest } from '../request.ts';

/** What a caller asks for. */
export interface PostedTokenRequest {
  readonly request: TokenRequest;
  /** Those of the request, or the installation's own. */
  readonly audiences: readonly string[];
  /** Whom its fields belong to. */
  readonly manager: string;
  /** Whether nothing is to be issued. */
  readonly dryRun: boolean;
}

/** Reads the body and the options. Throws 400, 413, 415 or 422. */
export async function readTokenRequest(
  incoming: FacadeRequest,
  account: PostedAccount,
  defaultAudiences: readonly string[],
): Promise<PostedTokenRequest> {
  const mediaType = plainBodyMediaType(incoming.contentType, incoming.header('content-encoding'));
  const body = await incoming.body();
  const { dryRun, fieldManager, fieldValidation } = writeOptions(incoming.query, 'CreateOptions', MAX_FIELD_MANAGER);
  const decoding = { body, mediaType, kind: TOKEN_REQUEST_KIND, defaultKind: true, fieldValidation, isRegistered };
  const { object, warnings } = decodeObject(decoding);
  warnings.forEach(incoming.warn);
  const request = defaultedTokenRequest(object);
  checkNamespace(request, account);
  const asked = request.spec.audiences ?? [];
  const audiences = asked.length === 0 ? defaultAudiences : asked;
  check(request, audiences);
  return { request, audiences, manager: fieldManagerName(fieldManager, incoming.userAgent), dryRun };
}

/** Fewer than 128. */
const MAX_FIELD_MANAGER = 127;
const BOUND_KINDS: readonly BoundObject['kind'][] = ['Pod', 'Secret'];

function isRegistered(group: string, version: string, kind: string): boolean {
  return version === 'v1' && reviewKinds.some((each) => each.group === group && each.kind === kind);
}

/** Only what protects; the rest is left to the target, so that its order and its words hold. */
function check({ spec: { boundObjectRef, expirationSeconds } }: TokenRequest, audiences: readonly string[]): void {
  if (audiences.length === 0) throw invalid(KIND, '', [requiredValue('spec.audiences')]);
  if (boundObjectRef === undefined) return;
  const kind = BOUND_KINDS.find((each) => each === boundObjectRef.kind);
  if (kind === undefined) return checkBoundKind(boundObjectRef, BOUND_KINDS);
  if (!isSilentlyExtended({ expirationSeconds: Number(expirationSeconds), boundObject: { kind, name: '' } })) return;
  const why = 'for a token that is bound to a Pod, Kubernetes takes this for a year; ask for another number of seconds';
  throw invalid(KIND, '', [invalidValue('spec.expirationSeconds', BigInt(expirationSeconds), why)]);
}
