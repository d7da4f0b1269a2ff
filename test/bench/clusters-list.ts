// Cost of the cluster list, compared with kube-apiserver's list: `node test/bench/clusters-list.ts [CLUSTERS] [WATCHERS]`. Runs a real
// kube-apiserver, Purser and a bare server as separate processes; CPU times come from the kernel. Prints JSON.

import { startChild } from './child-process.ts';
import { compareLists, measureListBytes } from './list-cost.ts';
import { measureUsage } from './process-usage.ts';
import { startRegistryWorld } from './registry-world.ts';
import { compareWatches } from './watch-cost.ts';

async function bench(clusters: number, watchers: number): Promise<object> {
  const world = await startRegistryWorld(clusters);
  try {
    const bytes = { hub: await measureListBytes(world.hub), facade: await measureListBytes(world.facade) };
    // Sends a static body of the same length.
    const floor = await startChild<{ readonly url: string }>('test/support/static-response-process.ts', [String(bytes.facade)]);
    const lists = await compareLists(world, { url: floor.message.url, path: '/', pid: floor.pid });
    await floor.stop();
    console.error(JSON.stringify(lists));
    const watches = await compareWatches(world, watchers);
    const memory = await (await measureUsage(world.facade.pid))();
    return { clusters, visible: world.visible, watchers, bytes, lists, watches, memory };
  } finally {
    await world.stop();
  }
}

const [clusters = '10000', watchers = '1000'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(clusters), Number(watchers)), null, 2));
process.exit();
