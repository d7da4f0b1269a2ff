// The TokenRequest of a caller: decoded as in kube-apiserver, checked against the rules of the installation, and converted to the request
// to the target cluster.

import { invalidValue, requiredValue, tooMany, unsupportedValue } from '../../kubernetes/field-error.ts';
import { isKnownKind } from '../../kubernetes/known-kinds.ts';
import { TOKEN_REQUEST } from '../../kubernetes/reviews.ts';
import { forbidden, invalid } from '../../kubernetes/status.ts';
import {
  checkBoundKind,
  checkNamespace,
  MAX_EXPIRATION_SECONDS,
  type ServiceAccountName,
  TOKEN_REQUEST_KIND,
  TOKEN_REQUEST_NAME,
  type TokenRequest,
  withTokenDefaults,
} from '../../kubernetes/token-request.ts';
import { type BodyMediaType, parsePlainBodyMediaType } from '../../kubernetes/wire/content-type.ts';
import { decodeObject } from '../../kubernetes/wire/decode.ts';
import { encodeObjectJson } from '../../kubernetes/wire/encode.ts';
import { parseWriteOptions } from '../../kubernetes/wire/options.ts';
import type { YamlLimits } from '../../kubernetes/wire/yaml/parse.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import { quoteGoString } from '../../std/go-text.ts';
import {
  type BoundObject,
  isReservedAudience,
  isSilentlyExtended,
  type TargetTokenRequest,
  type TokenLimits,
} from '../../targets/policy/grant.ts';
import { type FacadeRequest, MAX_BODY_BYTES } from '../request.ts';

/** Settings of the installation that apply to token requests. */
export interface TokenRules {
  /** Audiences of requests that name none; if empty, such requests are rejected. */
  readonly defaultAudiences: readonly string[];
  /**
   * Audiences that the façade accepts in callers' tokens. The façade issues no tokens for these audiences: a caller could use such tokens
   * to request additional ones.
   */
  readonly ownAudiences: readonly string[];
  readonly limits: TokenLimits;
}

/** A decoded and checked TokenRequest. */
export interface ParsedTokenRequest {
  readonly tokenRequest: TokenRequest;
  /** Lifetime requested from the target, in seconds; at most the lifetime in the request. */
  readonly expirationSeconds: number | bigint;
  /** Audiences of the request, or the default audiences of the installation. */
  readonly audiences: readonly string[];
  readonly dryRun: boolean;
  readonly outgoing: OutgoingRequest;
  /** Warnings for the caller. */
  readonly warnings: readonly string[];
}

/** The request to a target cluster. It contains only checked fields. */
export interface OutgoingRequest {
  /** Request that the response is checked against. */
  readonly expected: TargetTokenRequest;
  readonly body: string;
}

/** Parses token requests. Callers often repeat the same request, so recent results are cached. */
export class TokenRequestParser {
  readonly #rules: TokenRules;
  readonly #recent = new BoundedCache<ParsedTokenRequest>(MAX_RECENT);

  constructor(rules: TokenRules) {
    this.#rules = rules;
  }

  /** Parses the body and the options. Calls `onDecoded` before rules are checked. Throws 400, 403, 413, 415 or 422. */
  async parse(request: FacadeRequest, serviceAccount: ServiceAccountName, onDecoded: OnDecoded): Promise<ParsedTokenRequest> {
    const mediaType = parsePlainBodyMediaType(request.contentType, request.header('content-encoding'));
    const body = await request.body(MAX_BODY_BYTES);
    const decode = () => decodeRequest(request, serviceAccount, { body, mediaType, rules: this.#rules, onDecoded });
    if (body.length > MAX_RECENT_BYTES) return decode();
    // Only the body can contain a newline, so different requests have different keys.
    const key = [mediaType, request.query.toString(), serviceAccount.namespace, serviceAccount.name, body.toString('latin1')].join('\n');
    const known = this.#recent.get(key);
    if (known === undefined) {
      const posted = decode();
      this.#recent.set(key, posted);
      return posted;
    }
    onDecoded(known);
    known.warnings.forEach(request.warn);
    return known;
  }
}

/** Receives the decoded request. */
export type OnDecoded = (decoded: Pick<ParsedTokenRequest, 'tokenRequest' | 'audiences'>) => void;

/** Maximum size of a cached body, in bytes. A typical body has a few hundred bytes. */
const MAX_RECENT_BYTES = 2_048;
const MAX_RECENT = 512;

interface DecodeOptions {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly rules: TokenRules;
  readonly onDecoded: OnDecoded;
}

/**
 * Decodes and checks a token request. The result depends only on the media type, query, service account and body, which form the key of the
 * cache.
 */
function decodeRequest(request: FacadeRequest, serviceAccount: ServiceAccountName, decoding: DecodeOptions): ParsedTokenRequest {
  const { body, mediaType, rules, onDecoded } = decoding;
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    request.warn(text);
  };
  const { dryRun, fieldValidation } = parseWriteOptions(request.query, 'CreateOptions', MAX_FIELD_MANAGER);
  const decoded = decodeObject({
    body,
    mediaType,
    yamlLimits: YAML_LIMITS,
    kind: TOKEN_REQUEST_KIND,
    isTypeOptional: true,
    fieldValidation,
    isRegistered: isKnownKind,
  });
  decoded.warnings.forEach(warn);
  const tokenRequest = withoutManagedFields(withTokenDefaults(decoded.object));
  const named = tokenRequest.spec.audiences ?? [];
  const audiences = named.length === 0 ? rules.defaultAudiences : named;
  onDecoded({ tokenRequest, audiences });
  checkNamespace(tokenRequest, serviceAccount);
  checkOwners(tokenRequest);
  checkAudiences(audiences, serviceAccount, rules);
  checkBinding(tokenRequest);
  const expirationSeconds = limitLifetime(tokenRequest, rules.limits, warn);
  const outgoing = toOutgoing(tokenRequest, serviceAccount, { audiences, expirationSeconds });
  return { tokenRequest, expirationSeconds, audiences, dryRun, outgoing, warnings };
}

/** Limits on YAML that is not JSON. Parsing takes about 5 ms at worst for this size. */
const YAML_LIMITS: YamlLimits = { maxBytes: 1024, allowAliases: false };
/** Maximum length of fieldManager, in characters. */
const MAX_FIELD_MANAGER = 127;
/**
 * Maximum number of rejected audiences in one error. The error repeats all allowed audiences for each of them, and a body can contain
 * thousands.
 */
const MAX_REPORTED_AUDIENCES = 10;
/** Maximum number of owner references, which the response repeats. */
const MAX_OWNERS = 1_000;
const SERVICE_ACCOUNTS = { group: '', name: 'serviceaccounts' };
const BOUND_KINDS: readonly BoundObject['kind'][] = ['Pod', 'Secret'];

/** Removes metadata.managedFields. No server stores a TokenRequest, so its fields have no managers. */
function withoutManagedFields(tokenRequest: TokenRequest): TokenRequest {
  const { managedFields, ...metadata } = tokenRequest.metadata;
  return managedFields === undefined ? tokenRequest : { ...tokenRequest, metadata };
}

/** Throws 422 for too many owner references. No server uses the owner references of a TokenRequest. */
function checkOwners({ metadata: { ownerReferences = [] } }: TokenRequest): void {
  const { length } = ownerReferences;
  if (length > MAX_OWNERS) throw invalid(TOKEN_REQUEST_NAME, '', [tooMany('metadata.ownerReferences', length, MAX_OWNERS)]);
}

function checkAudiences(audiences: readonly string[], { name }: ServiceAccountName, { ownAudiences, limits }: TokenRules): void {
  if (audiences.length === 0) throw invalid(TOKEN_REQUEST_NAME, '', [requiredValue('spec.audiences')]);
  const own = audiences.find((audience) => ownAudiences.includes(audience));
  if (own !== undefined)
    throw forbidden(
      SERVICE_ACCOUNTS,
      name,
      `the façade issues no token for the audience ${quoteGoString(own)}, because it accepts this audience in callers' tokens; request another audience`,
    );
  const reserved = audiences.find(isReservedAudience);
  if (reserved !== undefined)
    throw forbidden(
      SERVICE_ACCOUNTS,
      name,
      `the audience ${quoteGoString(reserved)} is reserved for Purser's own tokens; request another audience`,
    );
  const { allowedAudiences } = limits;
  if (allowedAudiences === undefined) return;
  const allowed = new Set(allowedAudiences);
  const others = new Set(audiences.filter((audience) => !allowed.has(audience)));
  if (others.size > 0)
    throw invalid(
      TOKEN_REQUEST_NAME,
      '',
      [...others].slice(0, MAX_REPORTED_AUDIENCES).map((audience) => unsupportedValue('spec.audiences', audience, allowedAudiences)),
    );
}

/**
 * Throws 400 for a bound object of an unsupported kind, and 422 for a lifetime that Kubernetes can extend. The target checks the rest.
 */
function checkBinding({ spec: { boundObjectRef, expirationSeconds } }: TokenRequest): void {
  if (boundObjectRef === undefined) return;
  const kind = BOUND_KINDS.find((each) => each === boundObjectRef.kind);
  if (kind === undefined) return checkBoundKind(boundObjectRef, BOUND_KINDS);
  if (!isSilentlyExtended({ expirationSeconds: Number(expirationSeconds), boundObject: { kind, name: '' } })) return;
  const why = 'for a token that is bound to a Pod, Kubernetes can extend this lifetime to a year; request another number of seconds';
  throw invalid(TOKEN_REQUEST_NAME, '', [invalidValue('spec.expirationSeconds', BigInt(expirationSeconds), why)]);
}

/**
 * Returns the lifetime to request from the target. Shortens a lifetime above the limit, with a warning, as kube-apiserver does. Does not
 * change a lifetime that the target rejects as too long.
 */
function limitLifetime({ spec }: TokenRequest, { maxExpirationSeconds }: TokenLimits, warn: FacadeRequest['warn']): number | bigint {
  const { expirationSeconds: seconds, boundObjectRef } = spec;
  if (maxExpirationSeconds === undefined || seconds <= maxExpirationSeconds || seconds > MAX_EXPIRATION_SECONDS) return seconds;
  const kind = BOUND_KINDS.find((each) => each === boundObjectRef?.kind);
  const isExtended = isSilentlyExtended({ expirationSeconds: maxExpirationSeconds, ...(kind && { boundObject: { kind, name: '' } }) });
  const max = isExtended ? maxExpirationSeconds - 1 : maxExpirationSeconds;
  warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
  return max;
}

/** Returns the request to the target. */
function toOutgoing(
  { apiVersion, kind, metadata, spec }: TokenRequest,
  { namespace, name }: ServiceAccountName,
  { audiences, expirationSeconds }: Pick<ParsedTokenRequest, 'audiences' | 'expirationSeconds'>,
): OutgoingRequest {
  const { boundObjectRef } = spec;
  const boundObject = toBoundObject(boundObjectRef);
  const expected = {
    namespace,
    name,
    audiences,
    expirationSeconds: Number(expirationSeconds),
    ...(boundObject && { boundObject }),
    ...(metadata.uid && { accountUID: metadata.uid }),
  };
  const sentMetadata = { ...(metadata.name && { name: metadata.name }), ...(metadata.uid && { uid: metadata.uid }) };
  const outgoing = { apiVersion, kind, metadata: sentMetadata, spec: { audiences, expirationSeconds, boundObjectRef } };
  return { expected, body: encodeObjectJson(outgoing, TOKEN_REQUEST) };
}

function toBoundObject(reference: TokenRequest['spec']['boundObjectRef']): BoundObject | undefined {
  if (reference === undefined) return undefined;
  const { kind, name = '', uid } = reference;
  return { kind: kind as BoundObject['kind'], name, ...(uid && { uid }) };
}
