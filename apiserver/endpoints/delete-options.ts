// DeleteOptions: from the body of a request if it has one, else from its query.

import { type FieldError, invalidValue, unsupportedValue } from '../../src/kubernetes/field-error.ts';
import { DELETE_OPTIONS } from '../../src/kubernetes/reviews.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { bodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { messageOf, missingField } from '../../src/kubernetes/wire/document.ts';
import { type DeleteOptions, dryRunErrors, type PropagationPolicy, refuse } from '../../src/kubernetes/wire/options.ts';
import { flag, integer } from '../../src/kubernetes/wire/query.ts';
import { apiVersionOf, withDefaultType } from '../../src/kubernetes/wire/type-meta.ts';
import { readTypedBody } from '../../src/kubernetes/wire/typed-body.ts';
import { goQuote } from '../../src/std/go-text.ts';

/** DeleteOptions of a request, or throws a StatusError (400, 415, 422). Unknown fields of a body are ignored. */
export function deleteOptions(query: URLSearchParams, body: Buffer, contentType: string | undefined): DeleteOptions {
  const { dryRun = [], ...options } = body.length > 0 ? fromBody(body, contentType) : fromQuery(query);
  refuse('DeleteOptions', errorsOf(options, dryRun));
  return { ...(options as Omit<DeleteOptions, 'dryRun'>), dryRun: dryRun.length > 0 };
}

/** What was asked for, not yet validated. */
interface AskedOptions extends Omit<DeleteOptions, 'dryRun' | 'propagationPolicy'> {
  readonly dryRun?: readonly string[];
  readonly propagationPolicy?: string;
}

function fromBody(body: Buffer, contentType: string | undefined): AskedOptions {
  const mediaType = bodyMediaType(contentType);
  try {
    const { type, decode } = readTypedBody(body, mediaType);
    const { kind, ...groupVersion } = withDefaultType(type, { group: '', version: 'v1', kind: 'DeleteOptions' });
    if (groupVersion.version === '') throw new Error(missingField('apiVersion', body));
    if (kind !== 'DeleteOptions') throw new Error(notRegistered(kind, apiVersionOf(groupVersion)));
    const { kind: _, apiVersion: __, ignoreStoreReadErrorWithClusterBreakingPotential: ___, ...options } = decode(DELETE_OPTIONS).value;
    return options;
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function notRegistered(kind: string, apiVersion: string): string {
  return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;
}

function fromQuery(query: URLSearchParams): AskedOptions {
  const gracePeriodSeconds = integer(query, 'gracePeriodSeconds');
  const propagationPolicy = query.get('propagationPolicy');
  const [uid, resourceVersion] = [query.get('uid') ?? '', query.get('resourceVersion') ?? ''];
  const preconditions = { ...(uid !== '' && { uid }), ...(resourceVersion !== '' && { resourceVersion }) };
  return {
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(query.has('orphanDependents') && { orphanDependents: flag(query, 'orphanDependents') }),
    ...(propagationPolicy !== null && { propagationPolicy }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    dryRun: query.getAll('dryRun'),
  };
}

const POLICIES: readonly PropagationPolicy[] = ['Foreground', 'Background', 'Orphan'];

function errorsOf({ orphanDependents, propagationPolicy }: AskedOptions, dryRun: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  if (propagationPolicy !== undefined) {
    if (orphanDependents !== undefined) {
      errors.push(invalidValue('propagationPolicy', propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set'));
    }
    if (!POLICIES.some((policy) => policy === propagationPolicy)) {
      errors.push(unsupportedValue('propagationPolicy', propagationPolicy, [...POLICIES, 'nil']));
    }
  }
  return [...errors, ...dryRunErrors(dryRun)];
}
