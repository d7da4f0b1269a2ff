// The TokenRequest of a caller: read as kube-apiserver reads it, and refused where it asks for what the façade does not give.

import { checkBoundKind } from '../../kubernetes/bound-object.ts';
import { invalidValue, requiredValue, tooMany, unsupportedValue } from '../../kubernetes/field-error.ts';
import { isKnownKind } from '../../kubernetes/known-kinds.ts';
import { forbidden, invalid } from '../../kubernetes/status.ts';
import {
  checkNamespace,
  defaultedTokenRequest,
  KIND,
  MAX_SECONDS,
  type PostedAccount,
  TOKEN_REQUEST_KIND,
  type TokenRequest,
} from '../../kubernetes/token-request.ts';
import { type BodyMediaType, plainBodyMediaType } from '../../kubernetes/wire/content-type.ts';
import { decodeObject } from '../../kubernetes/wire/decode.ts';
import { writeOptions } from '../../kubernetes/wire/options.ts';
import { goQuote } from '../../std/go-text.ts';
import { Recent } from '../../std/recent.ts';
import { type BoundObject, isSilentlyExtended, type TokenLimits } from '../../targets/policy/token-request.ts';
import type { FacadeRequest } from '../request.ts';
import { type Outgoing, outgoingOf } from './outgoing.ts';

/** What the installation makes of requests. */
export interface TokenRules {
  /** Those of requests that name none; without any, such requests are refused. */
  readonly defaultAudiences: readonly string[];
  /** Those that the façade demands of its callers: nobody gets a token that begets others. */
  readonly ownAudiences: readonly string[];
  readonly limits: TokenLimits;
}

/** What a caller asks for. */
export interface PostedTokenRequest {
  readonly request: TokenRequest;
  /** What is asked of the target, which is never more than what the request says. */
  readonly expirationSeconds: number | bigint;
  /** Those of the request, or the installation's own. */
  readonly audiences: readonly string[];
  /** Whether nothing is to be issued. */
  readonly dryRun: boolean;
  readonly outgoing: Outgoing;
  /** What the caller was told of it. */
  readonly warnings: readonly string[];
}

/** Reads what callers post. Most of them post the same again and again: what was read lately is not read anew. */
export class TokenRequestReader {
  readonly #rules: TokenRules;
  readonly #recent = new Recent<PostedTokenRequest>(MAX_RECENT);

  constructor(rules: TokenRules) {
    this.#rules = rules;
  }

  /** Reads the body and the options. Throws 400, 403, 413, 415 or 422; `onDecoded` hears what was asked for before a rule refuses it. */
  async read(incoming: FacadeRequest, account: PostedAccount, onDecoded: OnDecoded): Promise<PostedTokenRequest> {
    const mediaType = plainBodyMediaType(incoming.contentType, incoming.header('content-encoding'));
    const body = await incoming.body();
    const decode = () => decodedRequest(incoming, account, { body, mediaType, rules: this.#rules, onDecoded });
    if (body.length > MAX_RECENT_BYTES) return decode();
    const { query } = incoming;
    // Only the last of these can hold a newline.
    const key = [mediaType, query.toString(), account.namespace, account.name, body.toString('latin1')].join('\n');
    const known = this.#recent.get(key);
    if (known === undefined) {
      const posted = decode();
      this.#recent.set(key, posted);
      return posted;
    }
    onDecoded(known);
    known.warnings.forEach(incoming.warn);
    return known;
  }
}

/** Told what a caller asks for. */
export type OnDecoded = (asked: Pick<PostedTokenRequest, 'request' | 'audiences'>) => void;

/** Bodies are a few hundred bytes, unless they name many audiences. */
const MAX_RECENT_BYTES = 2_048;
const MAX_RECENT = 512;

interface Decoding {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly rules: TokenRules;
  readonly onDecoded: OnDecoded;
}

/** Depends on nothing but its arguments: the query of the request, the account, and the body. */
function decodedRequest(incoming: FacadeRequest, account: PostedAccount, wanted: Decoding): PostedTokenRequest {
  const { body, mediaType, rules, onDecoded } = wanted;
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    incoming.warn(text);
  };
  const { dryRun, fieldValidation } = writeOptions(incoming.query, 'CreateOptions', MAX_FIELD_MANAGER);
  const decoded = decodeObject({
    body,
    mediaType,
    maxYamlBytes: MAX_YAML_BYTES,
    kind: TOKEN_REQUEST_KIND,
    defaultKind: true,
    fieldValidation,
    isRegistered: isKnownKind,
  });
  decoded.warnings.forEach(warn);
  const request = withoutManagedFields(defaultedTokenRequest(decoded.object));
  const asked = request.spec.audiences ?? [];
  const audiences = asked.length === 0 ? rules.defaultAudiences : asked;
  onDecoded({ request, audiences });
  checkNamespace(request, account);
  checkOwners(request);
  checkAudiences(audiences, account, rules);
  checkBinding(request);
  const expirationSeconds = shortened(request, rules.limits, warn);
  const outgoing = outgoingOf(request, account, { audiences, expirationSeconds });
  return { request, expirationSeconds, audiences, dryRun, outgoing, warnings };
}

/** Everybody waits while YAML is read: this much of the worst takes a third of a second. */
const MAX_YAML_BYTES = 16 * 1024;
/** Fewer than 128. */
const MAX_FIELD_MANAGER = 127;
/** Each is told with all that are allowed, and a body has room for a million. */
const MAX_AUDIENCES_TOLD = 10;
/** Maximum number of owner references, which the response repeats. */
const MAX_OWNERS = 1_000;
const SERVICE_ACCOUNTS = { group: '', name: 'serviceaccounts' };
const BOUND_KINDS: readonly BoundObject['kind'][] = ['Pod', 'Secret'];

/** Removes the managedFields: no server stores a TokenRequest, so that no field of it has a manager. */
function withoutManagedFields(request: TokenRequest): TokenRequest {
  const { managedFields, ...metadata } = request.metadata;
  return managedFields === undefined ? request : { ...request, metadata };
}

/** No server looks at the owners of a request. */
function checkOwners({ metadata: { ownerReferences = [] } }: TokenRequest): void {
  const { length } = ownerReferences;
  if (length > MAX_OWNERS) throw invalid(KIND, '', [tooMany('metadata.ownerReferences', length, MAX_OWNERS)]);
}

function checkAudiences(audiences: readonly string[], { name }: PostedAccount, { ownAudiences, limits }: TokenRules): void {
  if (audiences.length === 0) throw invalid(KIND, '', [requiredValue('spec.audiences')]);
  const own = audiences.find((audience) => ownAudiences.includes(audience));
  if (own !== undefined)
    throw forbidden(SERVICE_ACCOUNTS, name, `no token is issued here for the audience ${goQuote(own)}, which is this façade's own`);
  const { allowedAudiences } = limits;
  if (allowedAudiences === undefined) return;
  const allowed = new Set(allowedAudiences);
  const others = new Set(audiences.filter((audience) => !allowed.has(audience)));
  if (others.size > 0)
    throw invalid(
      KIND,
      '',
      [...others].slice(0, MAX_AUDIENCES_TOLD).map((audience) => unsupportedValue('spec.audiences', audience, allowedAudiences)),
    );
}

/** Only what protects; the rest is left to the target, so that its order and its words hold. */
function checkBinding({ spec: { boundObjectRef, expirationSeconds } }: TokenRequest): void {
  if (boundObjectRef === undefined) return;
  const kind = BOUND_KINDS.find((each) => each === boundObjectRef.kind);
  if (kind === undefined) return checkBoundKind(boundObjectRef, BOUND_KINDS);
  if (!isSilentlyExtended({ expirationSeconds: Number(expirationSeconds), boundObject: { kind, name: '' } })) return;
  const why = 'for a token that is bound to a Pod, Kubernetes takes this for a year; ask for another number of seconds';
  throw invalid(KIND, '', [invalidValue('spec.expirationSeconds', BigInt(expirationSeconds), why)]);
}

/** Shortens as a server shortens a lifetime beyond its own limit. A lifetime that no server grants is left for the target to reject. */
function shortened({ spec }: TokenRequest, { maxExpirationSeconds }: TokenLimits, warn: FacadeRequest['warn']): number | bigint {
  const { expirationSeconds: seconds, boundObjectRef } = spec;
  if (maxExpirationSeconds === undefined || seconds <= maxExpirationSeconds || seconds > MAX_SECONDS) return seconds;
  const kind = BOUND_KINDS.find((each) => each === boundObjectRef?.kind);
  const isExtended = isSilentlyExtended({ expirationSeconds: maxExpirationSeconds, ...(kind && { boundObject: { kind, name: '' } }) });
  const max = isExtended ? maxExpirationSeconds - 1 : maxExpirationSeconds;
  warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
  return max;
}
