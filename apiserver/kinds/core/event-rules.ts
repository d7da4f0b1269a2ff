// When an event is valid: laxly for core/v1 events without eventTime, strictly for the new style.
// Both APIs are checked in the core/v1 form, and errors name its fields.

import { type FieldError, invalidStruct, invalidValue, requiredValue } from '../../../src/kubernetes/field-error.ts';
import { dns1123SubdomainProblems, qualifiedNameProblems } from '../../../src/kubernetes/names.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { sameValue } from '../../same-value.ts';
import { subdomainName } from '../name-rules.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate } from './core-metadata.ts';
import type { ObjectReference } from './object-reference.ts';

/** A core/v1 event as it is stored. */
export interface Event extends KubeObject {
  readonly involvedObject?: ObjectReference;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly count?: number;
  readonly type?: string;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null };
  readonly action?: string;
  readonly related?: ObjectReference;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

/** What the caller's API calls the field that core/v1 calls `reportingComponent`. */
type ReportingField = 'reportingComponent' | 'reportingController';

const MAX_TEXT_BYTES = 128;
const MAX_MESSAGE_BYTES = 1024;

/** What every event must be, through either API. */
export function validateAnyEvent(event: Event, reportingField: ReportingField): readonly FieldError[] {
  const { namespace = '' } = event.metadata;
  return [
    ...(isUnset(event.eventTime) ? namespaceErrors(event) : newStyleErrors(event, reportingField)),
    ...dns1123SubdomainProblems(namespace).map((problem) => invalidValue('namespace', namespace, problem)),
  ];
}

/** What events.k8s.io demands of a new event beyond that. */
export function validateNewEvent(event: Event): readonly FieldError[] {
  const { type = '' } = event;
  return [
    ...validateCoreMetadata(event, { namespaced: true, nameProblems: subdomainName }),
    ...seriesErrors(event),
    ...(isUnset(event.eventTime) ? [requiredValue('eventTime')] : []),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalidValue('type', '', `has invalid value: ${type}`)]),
    ...deprecatedFields(event).map((field) => invalidValue(field, '', 'needs to be unset')),
  ];
}

function deprecatedFields({ firstTimestamp, lastTimestamp, count, source }: Event): readonly string[] {
  const fields = { firstTimestamp, lastTimestamp, count, source: source?.component || source?.host };
  return Object.entries(fields).flatMap(([field, value]) => (value ? [field] : []));
}

/** What events.k8s.io lets an update change: the series and metadata. */
export function validateEventChange(next: Event, old: Event): readonly FieldError[] {
  const before = immutableFields(old);
  return [
    ...validateCoreMetadataUpdate(next, old),
    ...(sameValue(next.series, old.series) ? [] : seriesErrors(next)),
    ...immutableFields(next).flatMap(([field, value], index) => (sameValue(value, before[index]?.[1]) ? [] : [immutable(field, value)])),
  ];
}

function namespaceErrors({ metadata, involvedObject }: Event): readonly FieldError[] {
  const { namespace: own = '' } = metadata;
  const { namespace: involved = '' } = involvedObject ?? {};
  const agrees = involved === '' ? own === '' || own === 'default' : own === involved;
  return agrees ? [] : [namespaceMismatch(involved)];
}

function newStyleErrors(event: Event, reportingField: ReportingField): readonly FieldError[] {
  const { reportingComponent = '', reportingInstance = '', action = '', reason = '', message = '' } = event;
  const involved = event.involvedObject?.namespace ?? '';
  const clusterScoped = involved === '' && event.metadata.namespace !== 'default' && event.metadata.namespace !== 'kube-system';
  return [
    ...(clusterScoped ? [namespaceMismatch(involved)] : []),
    ...(reportingComponent === '' ? [requiredValue(reportingField)] : []),
    ...qualifiedNameProblems(reportingComponent).map((problem) => invalidValue(reportingField, reportingComponent, problem)),
    ...requiredText('reportingInstance', reportingInstance),
    ...requiredText('action', action),
    ...requiredText('reason', reason),
    ...longerThan(MAX_MESSAGE_BYTES, 'message', message),
  ];
}

function requiredText(field: string, text: string): readonly FieldError[] {
  return text === '' ? [requiredValue(field)] : longerThan(MAX_TEXT_BYTES, field, text);
}

function longerThan(max: number, field: string, text: string): readonly FieldError[] {
  return Buffer.byteLength(text) > max ? [invalidValue(field, '', `can have at most ${max} characters`)] : [];
}

function seriesErrors({ series }: Event): readonly FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(isUnset(series.lastObservedTime) ? [requiredValue('series.lastObservedTime')] : []),
  ];
}

/** The fields that stay, in the order in which they are compared and as errors show them. */
function immutableFields(event: Event): readonly (readonly [field: string, value: unknown])[] {
  const { involvedObject = {}, reason = '', message = '', source = {}, count = 0, type = '', action = '', related } = event;
  return [
    ['involvedObject', goReference(involvedObject)],
    ['reason', reason],
    ['message', message],
    ['source', goSource(source)],
    ['firstTimestamp', event.firstTimestamp ?? null],
    ['lastTimestamp', event.lastTimestamp ?? null],
    ['count', count],
    ['reason', reason],
    ['type', type],
    ['eventTime', event.eventTime ?? null],
    ['action', action],
    ['related', related ? goReference(related) : null],
    ...reporterFields(event),
  ];
}

function reporterFields({ reportingComponent = '', reportingInstance = '' }: Event): readonly (readonly [string, string])[] {
  return [
    ['reportingController', reportingComponent],
    ['reportingInstance', reportingInstance],
  ];
}

/** A source as Go prints the internal struct. */
function goSource({ component = '', host = '' }: NonNullable<Event['source']>): object {
  return { Component: component, Host: host };
}

/** A reference as Go prints the internal struct. */
function goReference({ kind = '', namespace = '', name = '', ...more }: ObjectReference): object {
  const { uid = '', apiVersion = '', resourceVersion = '', fieldPath = '' } = more;
  return {
    Kind: kind,
    Namespace: namespace,
    Name: name,
    UID: uid,
    APIVersion: apiVersion,
    ResourceVersion: resourceVersion,
    FieldPath: fieldPath,
  };
}

function immutable(field: string, value: unknown): FieldError {
  const why = 'field is immutable';
  return typeof value === 'object' && value !== null ? invalidStruct(field, value, why) : invalidValue(field, value, why);
}

function namespaceMismatch(namespace: string): FieldError {
  return invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace');
}

function isUnset(time: string | null | undefined): boolean {
  return time === undefined || time === null;
}
