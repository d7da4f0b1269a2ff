// A hub with the manifests of `deploy/base`, and requests to it by users with the permissions that a test grants them.

import { Agent } from 'node:https';
import { sendRequest } from '../support/api-request.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { enforcePolicies, waitUntil } from './deploy-world.ts';
import { kubectlOutput } from './kubectl.ts';

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** Response to a request: the status code, and the object or the Status. */
export interface Response {
  readonly code: number;
  readonly body: StoredObject;
}

export interface StoredObject {
  readonly message?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Content types of patches. */
export const Patch = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';
export const TOKENS = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens';

/** User name of the controller's service account, with the permissions of `deploy/base`. */
export const PURSER = 'system:serviceaccount:purser-system:purser';

export function cluster(name: string): object {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://prod.example.com' }] },
      authInfo: { controller: { kind: 'Secret', namespace: 'purser-system', name: 'prod-credential' } },
    },
  };
}

export function managedToken(name: string, metadata: object = {}): object {
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace: 'team-a', ...metadata },
    spec: { clusterName: 'prod', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['https://prod.example.com'] },
  };
}

export class AdmissionWorld {
  readonly hub: RealCluster;
  readonly #agent: Agent;

  private constructor(hub: RealCluster) {
    this.hub = hub;
    this.#agent = new Agent({ ca: hub.ca, keepAlive: true });
  }

  /** Starts a hub without admission policies. */
  static async start(): Promise<AdmissionWorld> {
    const world = new AdmissionWorld(await startRealCluster({ controllers: true }));
    await world.kubectl('apply', '--server-side', '-k', 'REPO/deploy/base');
    await world.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    await world.kubectl('create', 'namespace', 'team-a');
    return world;
  }

  /** Installs the admission policies, and waits until the API server enforces them. */
  async enforcePolicies(): Promise<void> {
    await enforcePolicies((...args) => this.kubectl(...args));
  }

  /** Grants permissions to a user, cluster-wide, and waits until the API server applies them. */
  async grant(user: string, rules: readonly Rule[]): Promise<void> {
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: user } };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
    await this.admin('POST /apis/rbac.authorization.k8s.io/v1/clusterroles', { ...rbac, kind: 'ClusterRole', rules });
    await this.admin('POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      ...rbac,
      kind: 'ClusterRoleBinding',
      roleRef,
      subjects,
    });
    await waitUntil(async () => (await this.#countRules(user)) >= rules.length);
  }

  /** Sends a request as a user; a PATCH without `type` is a merge patch. */
  async send(user: string, line: string, body?: unknown, type?: string): Promise<Response> {
    const contentType = type ?? (line.startsWith('PATCH ') ? Patch.merge : 'application/json');
    return await this.#send({ 'impersonate-user': user, 'content-type': contentType }, line, body);
  }

  /** Sends a request as an administrator; throws if it fails. */
  async admin(line: string, body?: unknown): Promise<StoredObject> {
    const type = line.startsWith('PATCH ') ? Patch.merge : 'application/json';
    const { code, body: object } = await this.#send({ 'content-type': type }, line, body);
    if (code >= 300) throw new Error(`${line}: ${object.message}`);
    return object;
  }

  /** Runs kubectl as an administrator, and returns its output. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await kubectlOutput(this.hub, args);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.hub.stop();
  }

  async #send(headers: Readonly<Record<string, string>>, line: string, body: unknown): Promise<Response> {
    const [method = '', target = ''] = line.split(' ');
    const request = {
      headers: { authorization: 'Bearer admintoken', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const { status, body: text } = await sendRequest({ url: this.hub.url, agent: this.#agent }, method, target, request);
    // The API server writes plain text for a version that it does not serve.
    return { code: status, body: (text.startsWith('{') ? JSON.parse(text) : { message: text }) as StoredObject };
  }

  /** Returns the number of rules for Purser's resources that the API server reports for a user in team-a. */
  async #countRules(user: string): Promise<number> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'team-a' } };
    const { body } = await this.send(user, 'POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews', review);
    const { resourceRules = [] } = body.status as { readonly resourceRules?: readonly Rule[] };
    return resourceRules.filter(({ apiGroups = [] }) => apiGroups.some((group) => group.endsWith('purser.dev'))).length;
  }
}
