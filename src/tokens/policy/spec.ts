// Validation of a ManagedToken's spec: the rules of the CRD, which an older object may violate, and the rules from Purser's settings.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { OwnAudiencePrefix } from '../../api/names.ts';
import type { Stored } from '../../api/resources.ts';
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from '../../kubernetes/field-error.ts';
import { isReservedAudience, isSilentlyExtended, type TokenLimits, toBoundObject } from '../../targets/policy/grant.ts';
import { keyProblem } from '../outputs/outputs.ts';

type Spec = ManagedToken['spec'];

/** A ManagedToken as the informer keeps it. */
export interface StoredToken extends Stored<ManagedToken> {
  /** True if the ManagedToken was larger than `MAX_TOKEN_BYTES`; parts of it are then missing. */
  readonly isTooLarge?: true;
  /** True if parts of the ManagedToken are missing because the objects in its namespace take too much memory. */
  readonly isOverBudget?: true;
}

/**
 * Maximum size of the parts of a ManagedToken that Purser keeps (see `reduceToken`), as JSON, in bytes. ManagedTokens that the CRD admits
 * are smaller.
 */
export const MAX_TOKEN_BYTES = 65_536;

/** Returns the errors in the namespace and the spec of a ManagedToken; empty if both are valid. */
export function specProblems({ metadata, spec, isTooLarge, isOverBudget }: StoredToken, limits: TokenLimits): readonly FieldError[] {
  return [
    ...(isTooLarge ? [tooLong('spec', MAX_TOKEN_BYTES)] : []),
    ...(isOverBudget ? [forbiddenValue('spec', OVER_BUDGET)] : []),
    ...namespaceProblems(metadata.namespace, limits.credentialNamespaces),
    ...expirationProblems(spec),
    ...(spec.audiences === undefined ? [] : audienceProblems(spec.audiences, limits)),
    ...bindingProblems(spec),
    ...secretProblems(spec.secret),
  ];
}

const OVER_BUDGET =
  'the ManagedTokens in the namespace take too much memory; delete large ones, or shorten spec.secret.labels and spec.secret.annotations';
const RESERVED_AUDIENCE = `must not begin with ${OwnAudiencePrefix}, which is reserved for Purser's own tokens`;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const MAX_AUDIENCES = 16;
const MAX_AUDIENCE_LENGTH = 256;

/** Rejects namespaces with cluster credentials: Purser could mistake a token there for a credential. */
function namespaceProblems(namespace: string, credentialNamespaces: readonly string[] = []): readonly FieldError[] {
  if (!credentialNamespaces.includes(namespace)) return [];
  return [forbiddenValue('metadata.namespace', 'holds cluster credentials; create the ManagedToken in another namespace')];
}

function expirationProblems(spec: Spec): readonly FieldError[] {
  const field = 'spec.expirationSeconds';
  const { expirationSeconds } = spec;
  if (!Number.isInteger(expirationSeconds) || expirationSeconds < MIN_SECONDS || expirationSeconds > MAX_SECONDS) {
    return [invalidValue(field, expirationSeconds, `must be a whole number from ${MIN_SECONDS} to ${MAX_SECONDS}`)];
  }
  const boundObject = toBoundObject(spec);
  return isSilentlyExtended({ expirationSeconds, ...(boundObject && { boundObject }) })
    ? [
        invalidValue(
          field,
          expirationSeconds,
          'must not be 3607 for a token bound to a Pod, because Kubernetes can extend this lifetime to one year; use 3600 or 3608',
        ),
      ]
    : [];
}

function audienceProblems(audiences: readonly string[], { allowedAudiences, facadeAudiences }: TokenLimits): readonly FieldError[] {
  if (audiences.length === 0) return [requiredValue('spec.audiences')];
  if (audiences.length > MAX_AUDIENCES) return [tooMany('spec.audiences', audiences.length, MAX_AUDIENCES)];
  return audiences.flatMap((audience, index) => {
    const field = `spec.audiences[${index}]`;
    // The CRD counts code points, not UTF-16 units.
    if (audience === '' || Array.from(audience).length > MAX_AUDIENCE_LENGTH) {
      return [invalidValue(field, audience, `must have 1 to ${MAX_AUDIENCE_LENGTH} characters`)];
    }
    // Otherwise the holder of a token for a service account on the hub could call the façade.
    if (facadeAudiences?.includes(audience))
      return [invalidValue(field, audience, "must not be an audience that the façade accepts in callers' tokens; use another audience")];
    if (isReservedAudience(audience)) return [invalidValue(field, audience, RESERVED_AUDIENCE)];
    return allowedAudiences === undefined || allowedAudiences.includes(audience)
      ? []
      : [
          invalidValue(
            field,
            audience,
            'must be an audience in --allowed-audiences; use another audience, or ask an administrator to add this one',
          ),
        ];
  });
}

/** Returns whether a token whose spec names no audiences may have these audiences of the target's API server. */
export function areAudiencesAllowed(audiences: readonly string[], limits: TokenLimits): boolean {
  return audienceProblems(audiences, limits).length === 0;
}

function bindingProblems({ boundObjectRef, revocation }: Spec): readonly FieldError[] {
  if (boundObjectRef === undefined) return [];
  if (revocation === 'BoundSecret') return [forbiddenValue('spec.boundObjectRef', 'cannot be combined with revocation BoundSecret')];
  const kinds: readonly string[] = ['Pod', 'Secret'];
  return kinds.includes(boundObjectRef.kind) ? [] : [unsupportedValue('spec.boundObjectRef.kind', boundObjectRef.kind, kinds)];
}

/** Returns the problems of spec.secret. `labelsFromCluster` needs no check: labels with reserved names are not copied. */
function secretProblems({ outputs, argocd, keys = [] }: Spec['secret']): readonly FieldError[] {
  const isUnused = argocd !== undefined && !outputs.includes('ArgoCD');
  const names = keys.map(({ key }) => key);
  return [
    ...(isUnused ? [forbiddenValue('spec.secret.argocd', 'requires the ArgoCD output')] : []),
    ...keys.flatMap((item, index) => {
      const problem = names.indexOf(item.key) === index ? keyProblem(item, outputs) : 'must not be repeated';
      return problem === undefined ? [] : [invalidValue(`spec.secret.keys[${index}].key`, item.key, problem)];
    }),
  ];
}
