// Builders of ManagedTokens, Clusters, grants and their Secrets, for tests of policies. The time is noon on 1 March 2026.

import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { computeDigest } from '../../src/std/digest.ts';
import { parseDuration } from '../../src/std/duration.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import type { Grant } from '../../src/targets/policy/grant.ts';
import { parseTokenClaims } from '../../src/targets/policy/token-claims.ts';
import { toIssuingCredential } from '../../src/targets/registry.ts';
import { type OutputContent, toOutputContent } from '../../src/tokens/outputs/outputs.ts';
import { createRecord, parseRecord, type TokenRecord } from '../../src/tokens/policy/record.ts';
import { desiredSecret, type StoredSecret, toDataDigest, toOutputsDigest, toSecretDigest } from '../../src/tokens/policy/secret.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import type { TokenObservation } from '../../src/tokens/policy/state.ts';

export const NOON = Date.parse('2026-03-01T12:00:00Z');

/** Returns a time on 1 March 2026 in epoch milliseconds. */
export function at(time: string): number {
  return Date.parse(`2026-03-01T${time}Z`);
}

type Spec = ManagedToken['spec'];

/** Builds a ManagedToken in team-a for deploy/deployer on prod-eu. */
export class TokenBuilder {
  readonly #token: StoredToken;

  constructor(token: StoredToken) {
    this.#token = token;
  }

  with(spec: Partial<Spec>): TokenBuilder {
    return new TokenBuilder({ ...this.#token, spec: { ...this.#token.spec, ...spec } });
  }

  withMetadata(metadata: Partial<StoredToken['metadata']>): TokenBuilder {
    return new TokenBuilder({ ...this.#token, metadata: { ...this.#token.metadata, ...metadata } });
  }

  withStatus(status: NonNullable<ManagedToken['status']>): TokenBuilder {
    return new TokenBuilder({ ...this.#token, status });
  }

  annotated(name: string, value: string): TokenBuilder {
    return this.withMetadata({ annotations: { ...this.#token.metadata.annotations, [name]: value } });
  }

  renewedBefore(renewBefore: string): TokenBuilder {
    return this.with({ rotation: { ...this.#token.spec.rotation, renewBefore } });
  }

  suspended(): TokenBuilder {
    return this.with({ rotation: { ...this.#token.spec.rotation, suspend: true } });
  }

  writing(secret: Partial<Spec['secret']>): TokenBuilder {
    return this.with({ secret: { ...this.#token.spec.secret, ...secret } });
  }

  build(): StoredToken {
    return this.#token;
  }
}

export function aToken(): TokenBuilder {
  return new TokenBuilder({
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name: 'ci', namespace: 'team-a', uid: 'b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01', resourceVersion: '1', generation: 1 },
    spec: {
      clusterName: 'prod-eu',
      serviceAccount: { namespace: 'deploy', name: 'deployer' },
      audiences: ['https://kubernetes.default.svc'],
      expirationSeconds: 3600,
      requesterServiceAccountName: 'default',
      rotation: { renewBefore: '20%', suspend: false },
      secret: { outputs: ['Token'] },
      revocation: 'None',
    },
  });
}

export const SERVER = 'https://prod-eu.example.com:6443';
const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');

export function aCluster(uid = '4f0e3c1d-0000-4000-8000-000000000001', addresses: readonly string[] = [SERVER]): Stored<Cluster> {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'prod-eu', uid, resourceVersion: '1' },
    spec: {
      orchestratorApiEndpoints: {
        caBundle: CA,
        serverEndpoints: addresses.map((serverAddress) => ({ clientCIDR: '0.0.0.0/0', serverAddress })),
      },
    },
  };
}

/** Builds a token that the target grants at noon for an hour. */
export class GrantBuilder {
  readonly #sentAt: number;
  readonly #lifetimeMs: number;
  readonly #claims: Readonly<Record<string, unknown>> | undefined;

  constructor(sentAt: number, lifetimeMs: number, claims: Readonly<Record<string, unknown>> | undefined) {
    this.#sentAt = sentAt;
    this.#lifetimeMs = lifetimeMs;
    this.#claims = claims;
  }

  sentAt(sentAt: number): GrantBuilder {
    return new GrantBuilder(sentAt, this.#lifetimeMs, this.#claims);
  }

  expiringIn(duration: string | number): GrantBuilder {
    return new GrantBuilder(this.#sentAt, typeof duration === 'number' ? duration : parseDuration(duration), this.#claims);
  }

  claiming(claims: Readonly<Record<string, unknown>>): GrantBuilder {
    return new GrantBuilder(this.#sentAt, this.#lifetimeMs, { ...this.#claims, ...claims });
  }

  opaque(): GrantBuilder {
    return new GrantBuilder(this.#sentAt, this.#lifetimeMs, undefined);
  }

  text(): string {
    if (this.#claims === undefined) return `opaque-${this.#sentAt}`;
    const iat = Math.floor(this.#sentAt / 1000);
    return jwt({ iat, nbf: iat, exp: iat + this.#lifetimeMs / 1000, jti: `jti-${iat}`, ...this.#claims });
  }

  build(): Grant {
    const claims = parseTokenClaims(this.text());
    return {
      token: new Sensitive(this.text()),
      issuedAt: this.#sentAt,
      expiresAt: this.#sentAt + this.#lifetimeMs,
      audiences: claims?.audiences ?? ['https://kubernetes.default.svc'],
      ...(claims && { claims }),
    };
  }
}

export const ACCOUNT_UID = '9d6a0f52-0000-4000-8000-00000000000a';

export function aGrant(): GrantBuilder {
  return new GrantBuilder(NOON, 3_600_000, {
    sub: 'system:serviceaccount:deploy:deployer',
    aud: ['https://kubernetes.default.svc'],
    'kubernetes.io': { namespace: 'deploy', serviceaccount: { name: 'deployer', uid: ACCOUNT_UID } },
  });
}

/** Returns a JWT with these claims and an invalid signature. */
export function jwt(claims: unknown): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256', kid: 'k' })}.${part(claims)}.c2lnbmF0dXJl`;
}

/** Identity that the server gives a Secret. */
export const SECRET_IDENTITY = { name: 'ci', uid: 'secret-uid', resourceVersion: '1' } as const;

/** Converts a Secret to its form in the store, which has digests instead of tokens. */
export function stored(secret: Secret): StoredSecret {
  const decoded = Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const);
  const texts: Readonly<Record<string, string>> = Object.fromEntries(decoded);
  const claims = texts['token'] === undefined ? undefined : parseTokenClaims(texts['token']);
  return {
    metadata: { ...SECRET_IDENTITY, ...secret.metadata },
    type: secret.type ?? 'Opaque',
    immutable: secret.immutable ?? false,
    ...(texts['token'] && { tokenDigest: computeDigest(texts['token']) }),
    dataDigest: toDataDigest(secret.data ?? {}),
    ...(claims && { claims }),
  };
}

/** Returns the Secret that Purser writes for a grant. */
export function writtenSecret(observation: Pick<TokenObservation, 'token' | 'cluster' | 'secret'>, grant: GrantBuilder): Secret {
  const { token, cluster = aCluster(), secret } = observation;
  const record = createRecord({
    token,
    issuingCredential: toIssuingCredential({ cluster }),
    grant: { ...grant.build(), ...(token.spec.audiences && { audiences: token.spec.audiences }) },
    tokenDigest: computeDigest(grant.text()),
    previous: secret && parseRecord(secret.metadata.annotations),
  });
  return secretOf({ token, cluster, secret }, record, grant.text());
}

/** Returns the Secret that Purser writes for an existing token. */
export function secretOf(
  { token, cluster = aCluster(), secret }: Pick<TokenObservation, 'token' | 'cluster' | 'secret'>,
  record: TokenRecord,
  text: string,
): Secret {
  const content = contentOf(token, cluster);
  return desiredSecret({ token, record, cluster, content, ...(secret && { existing: secret.metadata }) }, text);
}

/** Returns the endpoint that Purser writes next to a token, for a Cluster that its credential covers. */
export function contentOf(token: ManagedToken, { spec }: Cluster): OutputContent {
  const { serverEndpoints, caBundle } = spec.orchestratorApiEndpoints;
  const content = toOutputContent(token, { servers: serverEndpoints.map(({ serverAddress }) => serverAddress), caBundle });
  if (content === undefined) throw new Error('The server of the spec is not an address of the Cluster.');
  return content;
}

/** Returns the part of an observation that a write of the Secret changes. */
export function afterWrite(
  { token, cluster = aCluster() }: Pick<TokenObservation, 'token' | 'cluster'>,
  secret: StoredSecret,
): Pick<TokenObservation, 'secret' | 'writtenDigest'> {
  return { secret, writtenDigest: toSecretDigest(toOutputsDigest(contentOf(token, cluster)), secret.dataDigest) };
}

/** Builds the observation of a ManagedToken. */
export class SceneBuilder {
  readonly #token: TokenBuilder;
  readonly #observed: Partial<Omit<TokenObservation, 'token'>>;

  constructor(token: TokenBuilder, observed: Partial<Omit<TokenObservation, 'token'>>) {
    this.#token = token;
    this.#observed = observed;
  }

  /** Adds the Secret that Purser writes for a grant and the current spec. */
  holding(grant: GrantBuilder): SceneBuilder {
    const { cluster = aCluster(), secret } = this.#observed;
    const token = this.#token.build();
    return this.with(afterWrite({ token, cluster }, stored(writtenSecret({ token, cluster, secret }, grant))));
  }

  with(observed: Partial<Omit<TokenObservation, 'token'>>): SceneBuilder {
    return new SceneBuilder(this.#token, { ...this.#observed, ...observed });
  }

  /** Changes the ManagedToken, and keeps the other objects. */
  changing(change: (token: TokenBuilder) => TokenBuilder): SceneBuilder {
    return new SceneBuilder(change(this.#token), this.#observed);
  }

  /** Changes annotations of the Secret; undefined removes one. */
  annotated(changes: Readonly<Record<string, string | undefined>>): SceneBuilder {
    const { secret } = this.build();
    if (secret === undefined) throw new Error('The scene has no Secret to annotate.');
    const entries = Object.entries({ ...secret.metadata.annotations, ...changes }).filter(([, value]) => value !== undefined);
    const annotations = Object.fromEntries(entries) as Record<string, string>;
    return this.with({ secret: { ...secret, metadata: { ...secret.metadata, annotations } } });
  }

  build(): TokenObservation {
    const token = this.#token.build();
    const cluster = 'cluster' in this.#observed ? this.#observed.cluster : aCluster();
    const outputs = cluster && toOutputsDigest(contentOf(token, cluster));
    const issuingCredential = cluster && toIssuingCredential({ cluster });
    return {
      secret: undefined,
      former: [],
      ...(outputs && { outputsDigest: outputs }),
      issuingCredential,
      ...this.#observed,
      token,
      cluster,
    };
  }
}

/** Returns a scene with a ManagedToken without a Secret. */
export function aScene(token = aToken()): SceneBuilder {
  return new SceneBuilder(token, {});
}
