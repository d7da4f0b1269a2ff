// The renewed Secret: it contains the renewed token of a credential, because Purser never writes to the registered Secret. Its annotations
// are the record of the renewal.

import {
  CredentialSecretKey,
  Label,
  LabelValue,
  RenewalAnnotation,
  RenewCredentialAnnotation,
  RenewedSuffix,
  RevokeCredentialAnnotation,
} from '../../api/names.ts';
import { type Secret, Secrets, type Stored } from '../../api/resources.ts';
import { fieldsOf, textOf } from '../../kubernetes/untrusted.ts';
import { computeDigest } from '../../std/digest.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import type { Sensitive } from '../../std/sensitive.ts';
import { formatTimestamp, parseTimestamp, toWholeSecond } from '../../std/timestamp.ts';

/** An anchor of Purser's own token on a target. */
export interface OwnAnchor {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The anchor of a replaced token. Purser deletes it at the end of the overlap. */
export interface ReplacedAnchor extends OwnAnchor {
  /** Time of the renewal that replaced the token, by Purser's clock, in milliseconds since the epoch, truncated to a whole second. */
  readonly replacedAt: number;
}

/** Record of one renewal. Times are by Purser's clock, in milliseconds since the epoch, truncated to whole seconds. */
export interface RenewalRecord {
  /** Digest of the token that the registered Secret contained at the renewal. */
  readonly registeredDigest: string;
  readonly tokenDigest: string;
  readonly renewedAt: number;
  readonly expiresAt: number;
  /** Time at which Purser switched back to the registered token; undefined while the renewed token is in use. */
  readonly retiredAt?: number | undefined;
  /** Last renewal request that Purser has satisfied; undefined if there is none. */
  readonly renewRequest?: string | undefined;
  /** Last revocation request before the renewal, which is pending while it differs from `revoked`; undefined if there is none. */
  readonly revokeRequest?: string | undefined;
  /** Last revocation request that Purser has completed; undefined if there is none. */
  readonly revoked?: string | undefined;
  /** Anchor of the renewed token; undefined if the token is not bound. */
  readonly anchor?: OwnAnchor | undefined;
  /** Anchors of replaced tokens, the latest first. */
  readonly replaced: readonly ReplacedAnchor[];
}

/** Number of anchors of replaced tokens in a record at which Purser deletes the oldest ones before their overlap ends. */
export const MAX_REPLACED = 8;
/** Maximum number of anchors of replaced tokens in a record. */
export const MAX_RECORDED = 64;

/** Returns the name of the Secret with the renewed token of a registered Secret. */
export function toRenewedName(registeredName: string): string {
  return `${registeredName}${RenewedSuffix}`;
}

/** Converts the key of a registered or renewed Secret, `namespace/name`, to the key of the registered Secret. */
export function toRegisteredKey(key: string): string {
  return key.endsWith(RenewedSuffix) ? key.slice(0, -RenewedSuffix.length) : key;
}

/** Returns whether a Secret holds, or could hold, the renewed token of another Secret, so no Cluster may refer to it. */
export function isRenewedSecret({ metadata: { name = '', labels = {} } }: Secret): boolean {
  return name.endsWith(RenewedSuffix) || Object.hasOwn(labels, Label.renewed);
}

/** Returns whether Purser may overwrite a Secret that has the name of a renewed Secret. */
export function isOverwritable({ metadata: { labels = {} } }: Secret): boolean {
  return labels[Label.renewed] === LabelValue.renewed;
}

/**
 * Returns the record of a renewed Secret that belongs to the registered Secret with this UID; undefined for any other Secret, and if the
 * record is incomplete.
 */
export function parseRenewal({ metadata }: Secret, registeredUID: string): RenewalRecord | undefined {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const isOwned = ownerReferences.some(({ kind, uid }) => kind === Secrets.kind && uid === registeredUID);
  if (!isOwned || labels[Label.renewed] !== LabelValue.renewed) return undefined;
  const registeredDigest = annotations[RenewalAnnotation.registeredDigest];
  const tokenDigest = annotations[RenewalAnnotation.tokenDigest];
  const renewedAt = parseTimestamp(annotations[RenewalAnnotation.renewedAt]);
  const expiresAt = parseTimestamp(annotations[RenewalAnnotation.expiresAt]);
  if (registeredDigest === undefined || tokenDigest === undefined || renewedAt === undefined || expiresAt === undefined) return undefined;
  const retiredAt = parseTimestamp(annotations[RenewalAnnotation.retiredAt]);
  const anchor = toAnchor(parseJson(annotations[RenewalAnnotation.anchor]));
  const replaced = parseReplaced(annotations);
  const {
    [RenewalAnnotation.renewRequest]: renewRequest,
    [RenewalAnnotation.revokeRequest]: revokeRequest,
    [RenewalAnnotation.revoked]: revoked,
  } = annotations;
  return omitUndefined<RenewalRecord>({
    registeredDigest,
    tokenDigest,
    renewedAt,
    expiresAt,
    retiredAt,
    renewRequest,
    revokeRequest,
    revoked,
    anchor,
    replaced,
  });
}

/** Returns the renewal request on a registered Secret, as a digest if the text is long; undefined if there is none. */
export function renewRequestOf(registered: Secret): string | undefined {
  return requestOf(registered, RenewCredentialAnnotation);
}

/** Returns the revocation request on a registered Secret, as a digest if the text is long; undefined if there is none. */
export function revokeRequestOf(registered: Secret): string | undefined {
  return requestOf(registered, RevokeCredentialAnnotation);
}

function requestOf({ metadata: { annotations = {} } }: Secret, annotation: string): string | undefined {
  const text = annotations[annotation] ?? '';
  if (text === '') return undefined;
  return text.length <= MAX_REQUEST_LENGTH ? text : computeDigest(text);
}

/**
 * Returns the anchors in the record of a renewed Secret that is overwritten at `now`, even if it belongs to another registered Secret, for
 * example to one that was deleted and re-created.
 */
export function toReplacedAnchors(renewed: Secret, now: number): readonly ReplacedAnchor[] {
  if (!isOverwritable(renewed)) return [];
  const { annotations = {} } = renewed.metadata;
  const anchor = toAnchor(parseJson(annotations[RenewalAnnotation.anchor]));
  return [...(anchor ? [{ ...anchor, replacedAt: toWholeSecond(now) }] : []), ...parseReplaced(annotations)];
}

/**
 * Returns the Secret to write for a renewed token; `token` is undefined after Purser switched back to the registered token. The Secret also
 * has the keys of the registered Secret that limit the use of the credential.
 */
export function toRenewedSecret(registered: Stored<Secret>, token: Sensitive<string> | undefined, record: RenewalRecord): Secret {
  const { namespace, name, uid } = registered.metadata;
  const { retiredAt, renewRequest, revokeRequest, revoked, anchor, replaced } = record;
  const limits = Object.entries(registered.data ?? {}).filter(([key]) => !SECRET_KEYS.has(key));
  return {
    metadata: {
      namespace,
      name: toRenewedName(name),
      labels: { [Label.renewed]: LabelValue.renewed },
      annotations: {
        [RenewalAnnotation.registeredDigest]: record.registeredDigest,
        [RenewalAnnotation.tokenDigest]: record.tokenDigest,
        [RenewalAnnotation.renewedAt]: formatTimestamp(record.renewedAt),
        [RenewalAnnotation.expiresAt]: formatTimestamp(record.expiresAt),
        ...(retiredAt !== undefined && { [RenewalAnnotation.retiredAt]: formatTimestamp(retiredAt) }),
        ...(renewRequest !== undefined && { [RenewalAnnotation.renewRequest]: renewRequest }),
        ...(revokeRequest !== undefined && { [RenewalAnnotation.revokeRequest]: revokeRequest }),
        ...(revoked !== undefined && { [RenewalAnnotation.revoked]: revoked }),
        ...(anchor && { [RenewalAnnotation.anchor]: encodeAnchor(anchor) }),
        ...(replaced.length > 0 && {
          [RenewalAnnotation.replacedAnchors]: `[${replaced.slice(0, MAX_RECORDED).map(encodeReplaced).join(',')}]`,
        }),
      },
      ownerReferences: [{ apiVersion: 'v1', kind: Secrets.kind, name, uid }],
    },
    type: 'Opaque',
    data: {
      ...Object.fromEntries(limits),
      ...(token && { [CredentialSecretKey.token]: Buffer.from(token.reveal()).toString('base64') }),
    },
  };
}

const MAX_REQUEST_LENGTH = 128;
const SECRET_KEYS: ReadonlySet<string> = new Set([
  CredentialSecretKey.token,
  CredentialSecretKey.clientCertificate,
  CredentialSecretKey.clientKey,
]);

function encodeAnchor({ namespace, name, uid }: OwnAnchor): string {
  return JSON.stringify({ namespace, name, uid });
}

function encodeReplaced({ namespace, name, uid, replacedAt }: ReplacedAnchor): string {
  return JSON.stringify({ namespace, name, uid, replacedAt: formatTimestamp(replacedAt) });
}

function parseReplaced(annotations: Readonly<Record<string, string>>): readonly ReplacedAnchor[] {
  const listed = parseJson(annotations[RenewalAnnotation.replacedAnchors]);
  return (Array.isArray(listed) ? listed : []).slice(0, MAX_RECORDED).flatMap((each) => {
    const anchor = toAnchor(each);
    // Without a valid time, the anchor is due for deletion immediately.
    return anchor === undefined ? [] : [{ ...anchor, replacedAt: parseTimestamp(fieldsOf(each)['replacedAt']) ?? 0 }];
  });
}

function toAnchor(value: unknown): OwnAnchor | undefined {
  const { namespace, name, uid } = fieldsOf(value);
  const anchor = { namespace: textOf(namespace), name: textOf(name), uid: textOf(uid) };
  return Object.values(anchor).includes('') ? undefined : anchor;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
