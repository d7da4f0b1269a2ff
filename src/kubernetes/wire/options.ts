// Options of requests, and query parameters of creates, updates and patches.

import { parseDuration } from '../../std/duration.ts';
import { isGoPrintable } from '../../std/go-text.ts';
import { type FieldError, forbiddenValue, invalidValue, requiredValue, tooLong, unsupportedValue } from '../field-error.ts';
import { badRequest, invalid } from '../status.ts';
import { readFlag, readText } from './query.ts';
import { decodeHeader } from './utf8.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Field manager of the request; empty if the request names none. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

export interface PatchOptions extends WriteOptions {
  readonly force: boolean;
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds?: number;
  /** Maximum number of objects; 0 if absent. Values below 1 mean no limit. */
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents?: boolean;
}

/**
 * Returns the CreateOptions or UpdateOptions of a query, or throws a StatusError (422). `maxLength` is the maximum length of fieldManager,
 * in characters; the limit of 128 bytes also applies.
 */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions',
  maxLength = MAX_FIELD_MANAGER_BYTES,
): WriteOptions {
  checkOptions(kind, validateWrite(query, maxLength));
  return parseAccepted(query);
}

/** Returns the PatchOptions of a query, or throws a StatusError (422). `apply` is true for an apply patch. */
export function parsePatchOptions(query: URLSearchParams, apply: boolean): PatchOptions {
  const errors: FieldError[] = [];
  if (apply && readText(query, 'fieldManager') === '') errors.push(requiredValue('fieldManager', 'is required for apply patch'));
  if (!apply && query.has('force')) errors.push(forbiddenValue('force', 'may not be specified for non-apply patch'));
  checkOptions('PatchOptions', [...errors, ...validateWrite(query)]);
  return { ...parseAccepted(query), force: readFlag(query, 'force') };
}

/**
 * Returns the `timeout` of a request in milliseconds: at most one minute, and one minute if the parameter is absent or not positive. Throws
 * a StatusError (400) if the parameter is invalid.
 */
export function parseTimeoutMs(query: URLSearchParams): number {
  const timeout = readText(query, 'timeout');
  if (timeout === '') return MAX_TIMEOUT_MS;
  try {
    const timeoutMs = parseDuration(timeout);
    return timeoutMs > 0 && timeoutMs < MAX_TIMEOUT_MS ? timeoutMs : MAX_TIMEOUT_MS;
  } catch (error) {
    throw badRequest(`invalid timeout specified in the request URL - ${error instanceof Error ? error.message : String(error)}`);
  }
}

const MAX_TIMEOUT_MS = 60_000;

/**
 * Returns the field manager: the option fieldManager, otherwise the User-Agent up to its first slash, without unprintable characters and at
 * most 128 bytes; `unknown` if nothing remains. `userAgent` has one character per byte.
 */
export function resolveFieldManager(fieldManager: string, userAgent = ''): string {
  if (fieldManager !== '') return fieldManager;
  let name = '';
  for (const char of decodeHeader(userAgent.split('/')[0]!)) {
    if (!isGoPrintable(char)) continue;
    if (Buffer.byteLength(name + char) > MAX_FIELD_MANAGER_BYTES) break;
    name += char;
  }
  return name === '' ? 'unknown' : name;
}

/** Maximum length of a field manager, in bytes. */
const MAX_FIELD_MANAGER_BYTES = 128;

/** Returns the problems of a dryRun option; empty if there are none. */
export function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [unsupportedValue('dryRun', dryRun, ['All'])];
}

/** Throws the 422 error of an options object if `errors` is not empty. */
export function checkOptions(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', name: kind }, '', errors);
}

function validateWrite(query: URLSearchParams, maxLength = MAX_FIELD_MANAGER_BYTES): FieldError[] {
  return [
    ...validateFieldManager(readText(query, 'fieldManager'), maxLength),
    ...validateDryRun(query.getAll('dryRun')),
    ...validateFieldValidation(readText(query, 'fieldValidation')),
  ];
}

function validateFieldManager(fieldManager: string, maxLength: number): FieldError[] {
  // Each error quotes the whole text, so a long text of unprintable characters would produce a huge message.
  if (isTooLong(fieldManager, maxLength)) return [tooLong('fieldManager', MAX_FIELD_MANAGER_BYTES)];
  const errors: FieldError[] = [];
  let position = 0;
  for (const char of fieldManager) {
    if (!isGoPrintable(char)) errors.push(invalidValue('fieldManager', fieldManager, formatUnprintable(char, position)));
    position += Buffer.byteLength(char);
  }
  return errors;
}

function isTooLong(fieldManager: string, maxLength: number): boolean {
  return Buffer.byteLength(fieldManager) > MAX_FIELD_MANAGER_BYTES || Array.from(fieldManager).length > maxLength;
}

function formatUnprintable(char: string, position: number): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `invalid character U+${code} (at position ${position})`;
}

const FIELD_VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn'];

function validateFieldValidation(fieldValidation: string): FieldError[] {
  return FIELD_VALIDATIONS.includes(fieldValidation) ? [] : [unsupportedValue('fieldValidation', fieldValidation, FIELD_VALIDATIONS)];
}

function parseAccepted(query: URLSearchParams): WriteOptions {
  const fieldValidation = readText(query, 'fieldValidation');
  return {
    dryRun: query.has('dryRun'),
    fieldManager: readText(query, 'fieldManager'),
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
  };
}
