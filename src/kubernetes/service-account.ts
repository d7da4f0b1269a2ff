// User names of service accounts, which are also the subjects of their tokens.

/** Returns the user name of a service account. */
export function toServiceAccountUsername({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Returns the namespace in the user name of a service account; undefined for other users. */
export function parseServiceAccountNamespace(username: string): string | undefined {
  return parseServiceAccount(username)?.namespace;
}

/** Parses the user name of a service account; undefined for other users. */
export function parseServiceAccount(username: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}
