// What the cluster list costs beside kube-apiserver's own: `node test/bench/clusters-list.ts [CLUSTERS] [WATCHERS]`.
// A real kube-apiserver, Purser and a bare server are processes of their own; each is counted by the kernel. Prints JSON.

import { startHelper } from './child-process.ts';
import { compareLists, listBytes } from './list-cost.ts';
import { measureUsage } from './process-usage.ts';
import { startRegistryWorld } from './registry-world.ts';
import { compareWatches } from './watch-cost.ts';

async function bench(clusters: number, watchers: number): Promise<object> {
  const world = await startRegistryWorld(clusters);
  try {
    const bytes = { hub: await listBytes(world.hub), facade: await listBytes(world.facade) };
    // Has a ready-made buffer of so many bytes for everybody.
    const floor = await startHelper<{ readonly url: string }>('test/support/static-response-process.ts', [String(bytes.facade)]);
    const lists = await compareLists(world, { url: floor.said.url, path: '/', pid: floor.pid });
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
