import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { ClusterWorld, healthy } from './cluster-world.ts';

let world: ClusterWorld;

beforeAll(async () => {
  world = await ClusterWorld.start();
  world.run();
});

afterAll(() => world.close());

/** Responds like a target that allows Purser to issue tokens in these namespaces only. */
const allowingIn =
  (...namespaces: readonly string[]): WireHandler =>
  (request, reply) =>
    healthy('v1.36.4', namespaces.includes(namespacesIn(request)[0] ?? ''))(request, reply);

/** Returns the namespaces of access reviews; '' for all namespaces. */
function namespacesIn({ path, body }: { readonly path: string; readonly body: string }): readonly string[] {
  if (!path.endsWith('/selfsubjectaccessreviews')) return [];
  const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { namespace?: string } } };
  return [spec.resourceAttributes.namespace ?? ''];
}

function reviewedNamespaces({ requests }: WireServer): readonly string[] {
  return [...new Set(requests.flatMap(namespacesIn))].sort();
}

async function messageOf(name: string): Promise<string | undefined> {
  return (await world.get(name)).status?.conditions?.find(({ type }) => type === 'Authorized')?.message;
}

it('shows Authorized=True with permissions in only the namespaces of ManagedTokens', async () => {
  const server = await world.serve(allowingIn('deploy', 'argocd'));
  for (const namespace of ['deploy', 'argocd', 'elsewhere']) await world.wantToken('narrow', namespace);
  await world.wantToken('another', 'other');
  await world.register('narrow', [server.url]);
  await world.shows('narrow', 'Ready=True ClusterReady');

  expect(await world.conditions('narrow')).toContain('Authorized=True PermissionsGranted');
  expect(await messageOf('narrow')).toMatch(/: in 2 of 3 reviewed namespaces\.$/);
  expect(reviewedNamespaces(server)).toEqual(['', 'argocd', 'deploy', 'elsewhere']);
});

it('adds no index to the ManagedTokens in a second term as leader', async () => {
  const server = await world.serve(allowingIn('deploy'));
  await world.wantToken('again', 'deploy');
  await world.register('again', [server.url]);
  await world.shows('again', 'Authorized=True PermissionsGranted');
  const reviews = () => server.requests.flatMap(namespacesIn).length;
  const [before, indexes] = [reviews(), world.tokenIndexes];

  world.nextTerm();
  await world.pass(30_000);
  expect(reviews()).toBeGreaterThan(before);
  expect(world.tokenIndexes).toBe(indexes);
});

it('shows Authorized=True as soon as a ManagedToken names a permitted namespace', async () => {
  const server = await world.serve(allowingIn('deploy'));
  await world.register('later', [server.url]);
  await world.shows('later', 'Authorized=False Forbidden');
  expect(reviewedNamespaces(server)).toEqual(['']);

  await world.wantToken('later', 'deploy');
  await world.shows('later', 'Authorized=True PermissionsGranted');
  expect(await messageOf('later')).toMatch(/: in 1 namespace\.$/);
});

it('sends no review for a single namespace if Purser has permission in all namespaces', async () => {
  const server = await world.serve(healthy());
  await world.wantToken('wide', 'deploy');
  await world.register('wide', [server.url]);
  await world.shows('wide', 'Ready=True ClusterReady');
  await world.pass(130_000);

  expect(reviewedNamespaces(server)).toEqual(['']);
  expect(await messageOf('wide')).not.toContain('namespace');
});
