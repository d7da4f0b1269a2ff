// Faults of the environment: name servers, and another hub that manages the same target.

import { startDnsServer } from '../../support/dns-server.ts';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { textOf } from '../prober.ts';
import { TARGET_NAME } from '../proxy/fault-proxy.ts';
import type { Scenario } from '../scenario.ts';
import { DEPLOY, register, seedHub, setPermission, TEAM, writeKubeconfig } from '../seed.ts';

/** Makes the DNS name of a target unknown, then resolves it to a dead address, then leaves queries without a response. */
async function breakNameResolution(bench: Bench): Promise<void> {
  let addresses: readonly string[] | undefined = ['127.0.0.1'];
  const dns = await startDnsServer((name) => (name === TARGET_NAME ? addresses : []));
  await bench.stopPursers();
  await bench.startPurser({ env: { TEST_DNS: dns.address } });
  const name = 'one-named';
  await register(bench.hub, name, bench.one, { address: `https://${TARGET_NAME}:${bench.one.proxy.port}` });
  await bench.createToken(name, name);
  await bench.expect('I10', 'the token for the named target is issued', 30_000, async () => (await bench.readToken(name)) !== '');
  for (const fault of [[], ['127.0.0.9'], undefined]) {
    addresses = fault;
    await bench.one.proxy.setTcpMode('reset');
    await bench.one.proxy.setTcpMode('pass');
    const before = await bench.readToken(name);
    await bench.rotate(name);
    await bench.wait(5_000);
    if ((await bench.readToken(name)) !== before) bench.recordViolation('I10', 'a token was issued while the name could not be resolved');
    addresses = ['127.0.0.1'];
    await bench.waitForRenewal(name, before, 60_000);
  }
  await bench.deleteToken(name);
  await bench.hub.api.delete(paths.clusters(name));
  await bench.stopPursers();
  await bench.startPurser();
  await dns.close();
}

/** Makes target two a hub with its own Purser, which requests tokens for the same service account. */
async function startSecondHub(bench: Bench): Promise<void> {
  const { two, one } = bench;
  await seedHub(two);
  await register(two, 'one', one);
  await setPermission(two, 'default', true);
  const first = bench.purser;
  const second = await bench.startPurser({ kubeconfig: await writeKubeconfig(two, bench.folder) });
  const name = 'one-2';
  bench.recordExcuse(name, ['I2'], 60_000, 'two hubs request tokens for the service account');
  const spec = { clusterName: 'one', serviceAccount: { namespace: DEPLOY, name }, audiences: ['https://hub.test'], expirationSeconds: 600 };
  await two.api.create(paths.tokens(TEAM), {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace: TEAM },
    spec,
  });
  const readOther = async () => textOf(await two.api.find(paths.secrets(TEAM, name)));
  await bench.expect('I10', 'the other hub has a token', 30_000, async () => (await readOther()) !== '');
  const before = await bench.readToken(name);
  await bench.rotate(name);
  await bench.waitForRenewal(name, before, 20_000);
  const { status } = await one.api.create(paths.reviews, { spec: { token: await readOther(), audiences: ['https://hub.test'] } });
  if (status?.authenticated !== true) bench.recordViolation('I1', "the other hub's token is rejected");
  await second.stop();
  bench.pursers.splice(0, Infinity, ...bench.pursers.filter((purser) => purser !== first), first);
  await two.api.delete(paths.tokens(TEAM, name));
}

export const environmentFaults: readonly Scenario[] = [
  {
    id: 'F52',
    title: "target's DNS name unknown, then resolved to a dead address, then queries without a response",
    on: 'one',
    run: breakNameResolution,
  },
  { id: 'F58', title: 'two hubs manage the same service account', on: 'purser', run: startSecondHub },
];
