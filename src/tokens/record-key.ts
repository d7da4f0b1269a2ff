// The key that signs the digest of an issued token in the status. Without the signature, any user who may write the status of ManagedTokens
// could fake issued tokens, and reach the global removal limit with them.

import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ManagedTokenStatus } from '../api/managed-token.gen.ts';
import { RecordKeySecret } from '../api/names.ts';
import { type Secret, Secrets } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { ignoreReasons } from '../kubernetes/status.ts';
import { type RetryOptions, retryUntilDone } from '../std/backoff.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { SignedDigest } from './policy/record.ts';
import type { StoredToken } from './policy/spec.ts';

/** Signs and verifies digests; each signature is valid for one ManagedToken. The key cannot be read from this object. */
export class RecordKey {
  readonly #key: KeyObject;
  /** Results of verifications by status object, cached because every reconcile and the removal limits need them. */
  readonly #verified = new WeakMap<ManagedTokenStatus, boolean>();

  constructor(key: Buffer) {
    this.#key = createSecretKey(key);
  }

  /** Signs the digest of a token that was issued for a ManagedToken, see `toIssuanceDigest`. */
  sign({ metadata }: Pick<StoredToken, 'metadata'>, digest: string): SignedDigest {
    const signature = createHmac('sha256', this.#key).update(`${metadata.uid} ${digest}`).digest('hex');
    return { digest, signature: `hmac-sha256:${signature}` };
  }

  /** Returns the digest in the status of a ManagedToken; undefined if this key has not signed it for the ManagedToken. */
  verify(token: Pick<StoredToken, 'metadata' | 'status'>): SignedDigest | undefined {
    const { status = {} } = token;
    const { tokenDigest: digest, tokenSignature: signature } = status;
    if (digest === undefined || signature === undefined) return undefined;
    const isVerified = this.#verified.get(status) ?? isEqual(this.sign(token, digest).signature, signature);
    this.#verified.set(status, isVerified);
    return isVerified ? { digest, signature } : undefined;
  }
}

export interface RecordKeyOptions extends Omit<RetryOptions, 'onFailure' | 'delays'> {
  readonly hub: Pick<KubeClient, 'list' | 'create' | 'update'>;
  /** Namespace that Purser runs in. */
  readonly namespace: string;
  readonly log: Logger;
}

/**
 * Reads the key from its Secret; creates the Secret if it does not exist, and replaces a key that is not usable. Retries after a failure,
 * and rejects only if `signal` aborts.
 */
export async function loadRecordKey({ hub, namespace, log, ...retry }: RecordKeyOptions): Promise<RecordKey> {
  const { signal } = retry;
  const name = RecordKeySecret.name;
  const attempt = async () => {
    // A list with one name needs no permission beyond those of the informers.
    const { items } = await hub.list(Secrets, { namespace, fieldSelector: `metadata.name=${name}`, signal });
    const [found] = items;
    const key = found && decodeKey(found);
    if (key !== undefined) return new RecordKey(key);
    const data = { [RecordKeySecret.key]: randomBytes(KEY_BYTES).toString('base64') };
    const sent = found
      ? hub.update(Secrets, { ...found, data }, { signal })
      : hub.create(Secrets, { metadata: { namespace, name, labels: LABELS }, type: 'Opaque', data }, { signal });
    // After a concurrent write, the next attempt reads the key of the other replica.
    const written = await ignoreReasons(sent, 'AlreadyExists', 'Conflict');
    const created = written && decodeKey(written);
    if (created === undefined) return undefined;
    const secret = `${namespace}/${name}`;
    if (found) log.warn({ secret }, 'unusable record key replaced');
    else log.info({ secret }, 'record key created');
    return new RecordKey(created);
  };
  return await retryUntilDone(attempt, { ...retry, onFailure: (error) => log.warn({ error }, 'record key not loaded') });
}

const KEY_BYTES = 32;
const LABELS = { 'app.kubernetes.io/name': 'purser' };

/** Returns the key in a Secret; undefined if the key is missing or has the wrong length. */
function decodeKey({ data = {} }: Secret): Buffer | undefined {
  const key = Buffer.from(data[RecordKeySecret.key] ?? '', 'base64');
  return key.length === KEY_BYTES ? key : undefined;
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
