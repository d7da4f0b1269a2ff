// A façade without a permission that the list of ManagedTokens needs, as after an update of the image without its manifests.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiResponse } from '../support/api-request.ts';
import type { Program } from '../support/processes.ts';
import { type DeployedObject, type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

interface ClusterRole extends DeployedObject {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const ROLE = 'purser-facade-tokens';
const USER = 'system:serviceaccount:purser-system:purser-facade';
const LISTS = ['/auth/v1/managedtokens', '/auth/v1/namespaces/team-a/managedtokens', '/auth/v1/managedtokens?watch=true&timeoutSeconds=1'];

let world: DeployWorld;
let role: ClusterRole;
let deployment: Deployment;

beforeAll(async () => {
  // The façade has its own service account, without the permissions of controllers.
  world = await DeployWorld.start('overlays/apart');
  const objects = await renderKustomization('overlays/apart');
  role = objects.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === ROLE) as ClusterRole;
  const deployments = objects.filter(isDeployment);
  deployment = deployments.find(({ metadata }) => metadata.name === 'purser-facade') as Deployment;
  // Controllers issue the certificate of the façade.
  for (const other of deployments) if (other !== deployment) await world.startDeployed(other);
});
afterAll(() => world?.stop());

/** Grants the permissions of the role without those on some resources, and waits until the hub applies the change. */
async function grantWithout(...missing: readonly string[]): Promise<void> {
  const rules = role.rules.map((rule) => ({ ...rule, resources: rule.resources.filter((resource) => !missing.includes(resource)) }));
  await world.kubectl('patch', 'clusterrole', ROLE, '--type=merge', '-p', JSON.stringify({ rules: rules.filter(isUsed) }));
  for (const resource of role.rules.flatMap(({ resources }) => resources)) {
    const can = missing.includes(resource) ? 'no' : 'yes';
    await waitUntil(async () => (await canList(resource)) === can);
  }
}

function isUsed({ resources }: ClusterRole['rules'][number]): boolean {
  return resources.length > 0;
}

/** Returns `yes` or `no`. kubectl exits with 1 after `no`. */
async function canList(resource: string): Promise<string> {
  const group = resource === 'managedtokens' ? 'tokens.purser.dev' : 'rbac.authorization.k8s.io';
  const response = await world.kubectl('auth', 'can-i', 'list', `${resource}.${group}`, '-A', `--as=${USER}`).catch(String);
  return response.includes('yes') ? 'yes' : 'no';
}

/** Starts the façade under a name, and waits until it lists Clusters. */
async function startFacade(name: string): Promise<Program> {
  const program = await world.startDeployed({ ...deployment, metadata: { ...deployment.metadata, name } });
  await waitUntil(async () => (await list(name, '/auth/v1/clusters').catch(() => undefined))?.status === 200);
  return program;
}

async function list(name: string, path: string): Promise<ApiResponse> {
  return await world.request([name, 'facade'], `GET ${path}`, { headers: { authorization: 'Bearer admintoken' } });
}

describe('façade without a permission for the list of ManagedTokens', () => {
  it.each(['managedtokens', 'roles', 'rolebindings'])(
    'responds with 503 and lists Clusters without list and watch on %s, and lists ManagedTokens after the permission is granted',
    async (resource) => {
      const name = `facade-without-${resource}`;
      await grantWithout(resource);
      const program = await startFacade(name);
      for (const path of LISTS) {
        const { status, headers, body } = await list(name, path);
        expect({ status, retryAfter: headers['retry-after'], ...(JSON.parse(body) as object) }).toMatchObject({
          status: 'Failure',
          retryAfter: '30',
          reason: 'ServiceUnavailable',
          code: 503,
          message: expect.stringContaining('Purser lacks a permission on the hub to list or watch managedtokens, roles') as unknown,
        });
        expect(status).toBe(503);
        expect(body).not.toContain(USER);
      }
      expect((await list(name, '/auth/v1/clusters')).status).toBe(200);
      const denied = (await program.output()).split('\n').filter((line) => line.includes('is forbidden'));
      expect(denied.length).toBeGreaterThan(0);
      for (const line of denied) expect(line).toMatch(new RegExp(`cannot (?:list|watch) resource .*"${resource}.*"remedy":.*${ROLE}`));
      await grantWithout();
      await waitUntil(async () => (await list(name, LISTS[0] ?? '')).status === 200);
      await program.stop();
    },
  );
});
