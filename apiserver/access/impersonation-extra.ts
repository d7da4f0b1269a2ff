// Which extra values of a user the constrained modes of impersonation accept.

import { type FieldError, fieldErrorText, invalidValue } from '../../src/kubernetes/field-error.ts';
import { dns1123SubdomainProblems } from '../../src/kubernetes/names.ts';
import { aggregated } from '../../src/kubernetes/status.ts';

/** What is wrong with the extra values, if anything. */
export function extraProblem(extra: Readonly<Record<string, readonly string[]>>): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    const problem = entryProblem(key, values);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function entryProblem(key: string, values: readonly string[]): string | undefined {
  if (key === '') return 'impersonating the empty string key in extra is not allowed';
  const errors = keyErrors(key);
  if (errors.length > 0) return `impersonating an invalid key in extra is not allowed: ${aggregated(errors.map(fieldErrorText))}`;
  if (values.length === 0) return 'impersonating empty values in extra is not allowed';
  return values.includes('') ? 'impersonating the empty string value in extra is not allowed' : undefined;
}

const PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

/** A key is a path with a domain before it, such as `acme.io/foo`. */
function keyErrors(key: string): readonly FieldError[] {
  const slash = key.indexOf('/');
  const [host, path] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)];
  if (host === '' || path === '') return [invalidValue(FIELD, key, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  return [
    ...dns1123SubdomainProblems(host).map((problem) => invalidValue(FIELD, host, problem)),
    ...(new RegExp(`^${PATH}$`).test(path) ? [] : [invalidValue(FIELD, path, `Invalid path (regex used for validation is '${PATH}')`)]),
  ];
}

const FIELD = 'extra.key';
