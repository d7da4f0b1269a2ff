// Schemas of the façade's OpenAPI document, except those of listed objects, which are described with their lists.

/** A schema in the form of OpenAPI. */
export interface OpenApiSchema {
  readonly type: string;
  readonly description: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** Schemas by kind. */
export const SCHEMAS = {
  TokenRequest: object('A token request and its response: authentication.k8s.io/v1.', {
    apiVersion: text('authentication.k8s.io/v1'),
    kind: text('TokenRequest'),
    metadata: { type: 'object', description: 'In the response: name, namespace and UID of the service account.' },
    spec: object('Requested token.', {
      audiences: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Required. Audiences of the token: a recipient accepts a token only if its own identifier is among them. A token for several audiences is valid at each of them, so they must trust one another.',
      },
      expirationSeconds: {
        type: 'integer',
        format: 'int64',
        description: 'Requested lifetime in seconds, 3600 by default; the cluster may grant another one.',
      },
      boundObjectRef: object('Pod or Secret in the namespace of the service account; the token becomes invalid when it is deleted.', {
        apiVersion: text('v1'),
        kind: text('Pod or Secret.'),
        name: text('Name of the object.'),
        uid: text('UID of the object; no token is issued for another object of the same name.'),
      }),
    }),
    status: object('Issued token.', {
      token: text('The bearer token; empty in a dry run.'),
      expirationTimestamp: { type: 'string', format: 'date-time', nullable: true, description: 'Granted expiry.' },
    }),
  }),
  WatchEvent: object('One line of a watch.', {
    type: text('ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.'),
    object: { type: 'object', description: 'The changed object; for ERROR, the Status.' },
  }),
  Status: object('Error, in the form of kube-apiserver.', {
    apiVersion: text('v1'),
    kind: text('Status'),
    metadata: { type: 'object', description: 'Empty.' },
    status: text('Failure'),
    message: text('Error message.'),
    reason: text('Reason in one word.'),
    details: { type: 'object', description: 'Object, causes, and seconds to wait before a retry.' },
    code: { type: 'integer', format: 'int32', description: 'HTTP status code.' },
  }),
} as const;

/** Returns the schema of a list, which refers to the schema of its items. */
export function listSchema({ plural, kind: { group, version, kind, listKind } }: ListedKind): OpenApiSchema {
  return object(`One page of ${plural}.`, {
    apiVersion: text(`${group}/${version}`),
    kind: text(listKind),
    metadata: object('Metadata of the list.', {
      selfLink: text('Path of the list.'),
      resourceVersion: text('Resource version of the list, to watch from.'),
      continue: text('Start of the next page; empty on the last page.'),
      remainingItemCount: {
        type: 'integer',
        format: 'int64',
        description: `Number of visible ${plural} after this page; absent with a selector.`,
      },
    }),
    items: { type: 'array', items: { $ref: `#/components/schemas/${kind}` }, description: 'Objects, sorted by namespace and name.' },
  });
}

interface ListedKind {
  readonly plural: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string; readonly listKind: string };
}

/** Returns the schema of an object with these properties. */
export function object<const P extends Readonly<Record<string, unknown>>>(description: string, properties: P) {
  return { type: 'object', description, properties } as const;
}

/** Returns the schema of a string. */
export function text(description: string) {
  return { type: 'string', description } as const;
}
