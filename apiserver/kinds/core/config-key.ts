// Keys of Secrets and ConfigMaps, and what both kinds do alike with what they hold.

import { type FieldError, forbiddenValue, invalidValue } from '../../../src/kubernetes/field-error.ts';

/** Secrets and ConfigMaps hold at most one mebibyte. */
export const MAX_CONTENT_BYTES = 1024 * 1024;

const MAX_KEY_BYTES = 253;
const KEY = '[-._a-zA-Z0-9]+';
const KEY_PATTERN = new RegExp(`^${KEY}$`);

/** What is wrong with a key of `field`. */
export function keyErrors(key: string, field: string): readonly FieldError[] {
  return configKeyProblems(key).map((problem) => invalidValue(`${field}[${key}]`, key, problem));
}

/** What a change of an object that has been frozen may not do. */
export function frozenError(field: string): FieldError {
  return forbiddenValue(field, 'field is immutable when `immutable` is set');
}

function configKeyProblems(key: string): readonly string[] {
  return [
    ...(Buffer.byteLength(key) > MAX_KEY_BYTES ? [`must be no more than ${MAX_KEY_BYTES} characters`] : []),
    ...(KEY_PATTERN.test(key)
      ? []
      : [
          `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${KEY}')`,
        ]),
    ...(key === '.' || key === '..' ? [`must not be '${key}'`] : key.startsWith('..') ? ["must not start with '..'"] : []),
  ];
}
