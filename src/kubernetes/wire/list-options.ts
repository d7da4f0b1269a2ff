// Query parameters of lists and watches.

import { type FieldError, forbiddenValue, unsupportedValue } from '../field-error.ts';
import { checkOptions, type ListOptions } from './options.ts';
import { readFlag, readInteger, readText } from './query.ts';

/** Returns the ListOptions of a query, or throws a StatusError (400). Neither validates the options nor parses selectors. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const timeoutSeconds = readInteger(query, 'timeoutSeconds');
  return {
    labelSelector: readText(query, 'labelSelector'),
    fieldSelector: readText(query, 'fieldSelector'),
    watch: readFlag(query, 'watch'),
    allowWatchBookmarks: readFlag(query, 'allowWatchBookmarks'),
    resourceVersion: readText(query, 'resourceVersion'),
    resourceVersionMatch: readText(query, 'resourceVersionMatch'),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    limit: readInteger(query, 'limit') ?? 0,
    continue: readText(query, 'continue'),
    ...(query.has('sendInitialEvents') && { sendInitialEvents: readFlag(query, 'sendInitialEvents') }),
  };
}

/**
 * Validates options; throws a StatusError (422) if they are invalid. In the result, `sendInitialEvents` and `resourceVersionMatch` are also
 * set for a watch that starts with the existing objects by default. `watch` is true for a watch request, by its query or by its path.
 */
export function validateListOptions(options: ListOptions, { watch }: { readonly watch: boolean }): ListOptions {
  const effective = watch ? withInitialEvents(options) : options;
  checkOptions('ListOptions', watch ? validateWatch(effective) : validateList(effective));
  return effective;
}

function withInitialEvents(options: ListOptions): ListOptions {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  if (sendInitialEvents !== undefined || resourceVersionMatch !== '') return options;
  if (resourceVersion !== '' && resourceVersion !== '0') return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

function validateList(options: ListOptions): FieldError[] {
  const { resourceVersion, resourceVersionMatch: match } = options;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '') errors.push(forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided'));
    if (options.continue !== '') errors.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan') errors.push(unsupportedMatch(match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && resourceVersion === '0') {
      errors.push(forbiddenMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatch(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, sendInitialEvents } = options;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbiddenMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) {
      errors.push(forbiddenMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
    }
    if (match !== 'NotOlderThan') errors.push(unsupportedMatch(match, ['NotOlderThan']));
    if (options.continue !== '') errors.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}

function forbiddenMatch(detail: string): FieldError {
  return forbiddenValue('resourceVersionMatch', detail);
}

function unsupportedMatch(match: string, supported: readonly string[]): FieldError {
  return unsupportedValue('resourceVersionMatch', match, supported);
}
