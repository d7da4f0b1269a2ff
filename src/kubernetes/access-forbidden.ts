// 403 errors for requests that a user is not permitted to send, with Kubernetes' messages.

import { quoteGoString } from '../std/go-text.ts';
import type { AccessAttributes } from './rbac.ts';
import { formatQualifiedName, type StatusError, statusError } from './status.ts';

interface NamedUser {
  readonly name: string;
}

/** Returns the 403 error for a request with these attributes. A non-empty `reason` is appended to the message. */
export function accessForbidden(user: NamedUser, attributes: AccessAttributes, reason: string): StatusError {
  const why = `${escapeHtml(formatDenied(user, attributes))}${reason === '' ? '' : `: ${reason}`}`;
  if (attributes.type === 'path') return statusError('Forbidden', `forbidden: ${why}`, {});
  const { group, resource, name } = attributes;
  const details = { ...(name !== '' && { name }), ...(group !== '' && { group }), ...(resource !== '' && { kind: resource }) };
  return statusError('Forbidden', `${formatSubject(group, resource, name)}${why}`, details);
}

function formatSubject(group: string, resource: string, name: string): string {
  if (resource === '' && group === '') return 'forbidden: ';
  return `${formatQualifiedName({ group, name: resource })}${name === '' ? '' : ` ${quoteGoString(name)}`} is forbidden: `;
}

function formatDenied(user: NamedUser, attributes: AccessAttributes): string {
  const action = `User ${quoteGoString(user.name)} cannot ${attributes.verb}`;
  if (attributes.type === 'path') return `${action} path ${quoteGoString(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const path = subresource === '' ? resource : `${resource}/${subresource}`;
  const target = `resource ${quoteGoString(path)} in API group ${quoteGoString(group)}`;
  return `${action} ${target} ${namespace === '' ? 'at the cluster scope' : `in the namespace ${quoteGoString(namespace)}`}`;
}

/** Escapes HTML, so that a browser that shows the error renders no markup. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
