// The objects of the façade's OpenAPI document.

/** Schemas by name. */
export const SCHEMAS = {
  TokenRequest: object('A request for a token, and the answer to it: authentication.k8s.io/v1.', {
    apiVersion: text('authentication.k8s.io/v1'),
    kind: text('TokenRequest'),
    metadata: { type: 'object', description: "In the answer: the account's name, namespace and UID." },
    spec: object('What is asked for.', {
      audiences: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Required. Whom the token is for: a recipient accepts it only when its own identifier is among them. A token for several is valid at each, so they must trust one another.',
      },
      expirationSeconds: {
        type: 'integer',
        format: 'int64',
        description: 'How long the token should be valid, 3600 by default; the cluster may grant another time.',
      },
      boundObjectRef: object('A Pod or Secret beside the account; the token dies with it.', {
        apiVersion: text('v1'),
        kind: text('Pod or Secret.'),
        name: text('Its name.'),
        uid: text('Its UID; no token is issued for another object of the same name.'),
      }),
    }),
    status: object('What was issued.', {
      token: text('The bearer token; empty in a dry run.'),
      expirationTimestamp: { type: 'string', format: 'date-time', nullable: true, description: 'When it expires, as granted.' },
    }),
  }),
  Cluster: object('What callers may know of a registered cluster; the custom resource has more.', {
    apiVersion: text('registry.purser.dev/v1alpha1'),
    kind: text('Cluster'),
    metadata: {
      type: 'object',
      description:
        'name, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, labels; annotations under prefixes that the operator made public.',
    },
    spec: object('Where the cluster is.', {
      orchestratorApiEndpoints: { type: 'object', description: 'caBundle and serverEndpoints, as in the custom resource.' },
    }),
    status: object('How the cluster is.', {
      type: text('The distribution.'),
      version: text('The version that its API server reports.'),
      conditions: { type: 'array', items: { type: 'object' }, description: 'As in the custom resource.' },
    }),
  }),
  ClusterList: object('One page of clusters.', {
    apiVersion: text('registry.purser.dev/v1alpha1'),
    kind: text('ClusterList'),
    metadata: object('About the list.', {
      selfLink: text('/auth/v1/clusters'),
      resourceVersion: text('The version of the list, to watch from.'),
      continue: text('Where the next page begins; empty on the last one.'),
      remainingItemCount: {
        type: 'integer',
        format: 'int64',
        description: 'How many clusters that the caller may see come after this page; absent with a selector.',
      },
    }),
    items: { type: 'array', items: { $ref: '#/components/schemas/Cluster' }, description: 'The clusters, by name.' },
  }),
  WatchEvent: object('One line of a watch.', {
    type: text('ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.'),
    object: { type: 'object', description: 'The Cluster; for ERROR, the Status.' },
  }),
  Status: object('Why a request failed, as of kube-apiserver.', {
    apiVersion: text('v1'),
    kind: text('Status'),
    metadata: { type: 'object', description: 'Empty.' },
    status: text('Failure'),
    message: text('What went wrong, for people.'),
    reason: text('What went wrong, for programs.'),
    details: { type: 'object', description: 'What it is about, causes, and after how many seconds to come again.' },
    code: { type: 'integer', format: 'int32', description: 'The status code of the answer.' },
  }),
} as const;

function object<const P extends Readonly<Record<string, unknown>>>(description: string, properties: P) {
  return { type: 'object', description, properties } as const;
}

function text(description: string) {
  return { type: 'string', description } as const;
}
