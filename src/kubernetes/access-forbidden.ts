// 403 errors for requests that a user is not permitted to send, with Kubernetes' messages.

import { goQuote } from '../std/go-text.ts';
import type { AccessAttributes } from './rbac.ts';
import { qualifiedName, type StatusError, statusError } from './status.ts';

interface NamedUser {
  readonly name: string;
}

/** Returns the 403 error for a request with these attributes. A non-empty `reason` is appended to the message. */
export function accessForbidden(user: NamedUser, attributes: AccessAttributes, reason: string): StatusError {
  const why = `${escapeHtml(deniedText(user, attributes))}${reason === '' ? '' : `: ${reason}`}`;
  if (attributes.type === 'path') return statusError('Forbidden', `forbidden: ${why}`, {});
  const { group, resource, name } = attributes;
  const details = { ...(name !== '' && { name }), ...(group !== '' && { group }), ...(resource !== '' && { kind: resource }) };
  return statusError('Forbidden', `${subjectText(group, resource, name)}${why}`, details);
}

function subjectText(group: string, resource: string, name: string): string {
  if (resource === '' && group === '') return 'forbidden: ';
  return `${qualifiedName({ group, name: resource })}${name === '' ? '' : ` ${goQuote(name)}`} is forbidden: `;
}

function deniedText(user: NamedUser, attributes: AccessAttributes): string {
  const action = `User ${goQuote(user.name)} cannot ${attributes.verb}`;
  if (attributes.type === 'path') return `${action} path ${goQuote(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const target = `resource ${goQuote(subresource === '' ? resource : `${resource}/${subresource}`)} in API group ${goQuote(group)}`;
  return `${action} ${target} ${namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`}`;
}

/** Escapes HTML, so that a browser that shows the error renders no markup. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
