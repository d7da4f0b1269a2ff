// The schemas of the façade's OpenAPI document.

/** Schemas by name. */
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
  Cluster: object('Public fields of a registered cluster; the custom resource has more.', {
    apiVersion: text('registry.purser.dev/v1alpha1'),
    kind: text('Cluster'),
    metadata: {
      type: 'object',
      description:
        'name, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, labels; annotations under public prefixes.',
    },
    spec: object('Addresses of the cluster.', {
      orchestratorApiEndpoints: { type: 'object', description: 'caBundle and serverEndpoints, as in the custom resource.' },
    }),
    status: object('State of the cluster.', {
      type: text('Distribution of the cluster.'),
      version: text('Version of its API server.'),
      conditions: { type: 'array', items: { type: 'object' }, description: 'As in the custom resource.' },
    }),
  }),
  ClusterList: object('One page of clusters.', {
    apiVersion: text('registry.purser.dev/v1alpha1'),
    kind: text('ClusterList'),
    metadata: object('Metadata of the list.', {
      selfLink: text('/auth/v1/clusters'),
      resourceVersion: text('Resource version of the list, to watch from.'),
      continue: text('Start of the next page; empty on the last page.'),
      remainingItemCount: {
        type: 'integer',
        format: 'int64',
        description: 'Number of visible clusters after this page; absent with a selector.',
      },
    }),
    items: { type: 'array', items: { $ref: '#/components/schemas/Cluster' }, description: 'Clusters, sorted by name.' },
  }),
  WatchEvent: object('One line of a watch.', {
    type: text('ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.'),
    object: { type: 'object', description: 'The Cluster; for ERROR, the Status.' },
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

function object<const P extends Readonly<Record<string, unknown>>>(description: string, properties: P) {
  return { type: 'object', description, properties } as const;
}

function text(description: string) {
  return { type: 'string', description } as const;
}
