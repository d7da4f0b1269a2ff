// The informer of the official JavaScript client against the façade.

import { afterAll, describe, expect, it } from '@jest/globals';
import { type Informer, KubeConfig, type KubernetesListObject, type KubernetesObject, makeInformer } from '@kubernetes/client-node';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { WIRE_KINDS, type WireKind } from './listed-kinds.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const facade = clusterFacade(server);
const informers: Informer<KubernetesObject>[] = [];

afterAll(async () => {
  for (const informer of informers) await informer.stop();
});

async function startInformer({ path }: WireKind, token: string): Promise<() => readonly string[]> {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: facade.url, caData: Buffer.from(facade.ca).toString('base64') }],
    users: [{ name: 'u', token }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const list = async () => {
    const { body } = await facade.request('GET', path, { headers: { authorization: `Bearer ${token}` } });
    return JSON.parse(body) as KubernetesListObject<KubernetesObject>;
  };
  const informer = makeInformer<KubernetesObject>(config, path, list);
  informers.push(informer);
  await informer.start();
  return () =>
    informer
      .list()
      .map(({ metadata = {} }) => `${[metadata.namespace, metadata.name].filter(Boolean).join('/')} ${metadata.labels?.['env']}`)
      .sort();
}

describe('informer of @kubernetes/client-node', () => {
  it.each(WIRE_KINDS)('receives changes to %s and to permissions from the façade', async (_, kind) => {
    const { hub } = facade;
    const [a = '', b = '', c = '', d = ''] = kind.keys;
    const labeled = (...keys: readonly (readonly [string, string])[]) => keys.map(([key, env]) => `${key} ${env}`).sort();
    await kind.prepare(hub);
    for (const key of [a, b, c]) await kind.put(hub, key, { env: 'prod' });
    await kind.grant(hub, 'alice', [a, b, d]);
    const listAdmin = await startInformer(kind, facade.tokens.admin);
    const listAlice = await startInformer(kind, facade.tokens.alice);
    await eventually(async () => {
      expect(listAdmin()).toEqual(labeled([a, 'prod'], [b, 'prod'], [c, 'prod']));
      expect(listAlice()).toEqual(labeled([a, 'prod'], [b, 'prod']));
    });
    await kind.put(hub, a, { env: 'dev' });
    await kind.put(hub, d, { env: 'prod' });
    await kind.grant(hub, 'alice', [a, c, d]);
    await kind.delete(hub, b);
    await eventually(async () => {
      expect(listAdmin()).toEqual(labeled([a, 'dev'], [c, 'prod'], [d, 'prod']));
      expect(listAlice()).toEqual(labeled([a, 'dev'], [c, 'prod'], [d, 'prod']));
    });
    await kind.grant(hub, 'alice', [c]);
    await eventually(async () => expect(listAlice()).toEqual(labeled([c, 'prod'])));
    await kind.withdraw(hub, 'alice');
    await eventually(async () => expect(listAlice()).toEqual([]));
  });
});
