// Faults of what is around: name servers, and another hub that manages the same target.

import { startDnsServer } from '../../support/dns-server.ts';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { allow, DEPLOY, furnishHub, register, TEAM, writeKubeconfig } from '../furnish.ts';
import { textOf } from '../prober.ts';
import { TARGET_NAME } from '../proxy/fault-proxy.ts';
import type { Scenario } from '../scenario.ts';

/** The name of a target is not known, leads nowhere, is met with silence, and is well again. */
async function names(bench: Bench): Promise<void> {
  let addresses: readonly string[] | undefined = ['127.0.0.1'];
  const dns = await startDnsServer((name) => (name === TARGET_NAME ? addresses : []));
  await bench.endPursers();
  await bench.startPurser({ env: { TEST_DNS: dns.address } });
  const name = 'one-named';
  await register(bench.hub, name, bench.one, { address: `https://${TARGET_NAME}:${bench.one.proxy.port}` });
  await bench.createToken(name, name);
  await bench.expect('I10', 'a token by name', 30_000, async () => (await bench.tokenText(name)) !== '');
  for (const fault of [[], ['127.0.0.9'], undefined]) {
    addresses = fault;
    await bench.one.proxy.tcp('reset');
    await bench.one.proxy.tcp('pass');
    const before = await bench.tokenText(name);
    await bench.rotate(name);
    await bench.pass(5_000);
    if ((await bench.tokenText(name)) !== before) bench.violation('I10', 'a token came from nowhere');
    addresses = ['127.0.0.1'];
    await bench.renewed(name, before, 60_000);
  }
  await bench.deleteToken(name);
  await bench.hub.api.delete(paths.clusters(name));
  await bench.endPursers();
  await bench.startPurser();
  await dns.close();
}

/** Target two is a hub, too, with a Purser of its own, and asks for the same account. */
async function twoHubs(bench: Bench): Promise<void> {
  const { two, one } = bench;
  await furnishHub(two);
  await register(two, 'one', one);
  await allow(two, 'default', true);
  const first = bench.purser;
  const second = await bench.startPurser({ kubeconfig: await writeKubeconfig(two, bench.folder) });
  const name = 'one-2';
  bench.excuse(name, ['I2'], 60_000, 'two hubs ask for it');
  const spec = { clusterName: 'one', serviceAccount: { namespace: DEPLOY, name }, audiences: ['https://hub.test'], expirationSeconds: 600 };
  await two.api.create(paths.tokens(TEAM), {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace: TEAM },
    spec,
  });
  const other = async () => textOf(await two.api.find(paths.secrets(TEAM, name)));
  await bench.expect('I10', 'a token on the other hub', 30_000, async () => (await other()) !== '');
  const before = await bench.tokenText(name);
  await bench.rotate(name);
  await bench.renewed(name, before, 20_000);
  const { status } = await one.api.create(paths.reviews, { spec: { token: await other(), audiences: ['https://hub.test'] } });
  if (status?.authenticated !== true) bench.violation('I1', "the other hub's token is refused");
  await second.stop();
  bench.pursers.splice(0, Infinity, ...bench.pursers.filter((purser) => purser !== first), first);
  await two.api.delete(paths.tokens(TEAM, name));
}

export const surroundingFaults: readonly Scenario[] = [
  { id: 'F52', title: "target's DNS name unknown, resolved to a dead address, not answered", on: 'one', run: names },
  { id: 'F58', title: 'two hubs manage the same service account', on: 'purser', run: twoHubs },
];
