// What the cluster list costs beside kube-apiserver's own: `node test/bench/clusters-list.ts [CLUSTERS] [WATCHERS]`.
// A real kube-apiserver, Purser and a bare server are processes of their own; each is counted by the kernel. Prints JSON.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { compareLists, listBytes } from './list-cost.ts';
import { measureUsage } from './process-usage.ts';
import { type Served, startRegistryWorld } from './registry-world.ts';
import { compareWatches } from './watch-cost.ts';

async function bench(clusters: number, watchers: number): Promise<object> {
  const world = await startRegistryWorld(clusters);
  try {
    const bytes = { hub: await listBytes(world.hub), facade: await listBytes(world.facade) };
    const lists = await compareLists(world, await startFloor(bytes.facade));
    console.error(JSON.stringify(lists));
    const watches = await compareWatches(world, watchers);
    const memory = await (await measureUsage(world.facade.pid))();
    return { clusters, visible: world.visible, watchers, bytes, lists, watches, memory };
  } finally {
    await world.stop();
  }
}

/** A server that has a ready-made buffer of so many bytes for everybody. */
async function startFloor(bytes: number): Promise<Served> {
  const child = fork('test/support/ready-made-process.ts', [String(bytes)]);
  process.once('exit', () => child.kill());
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { url, path: '/', pid: child.pid as number };
}

const [clusters = '10000', watchers = '1000'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(clusters), Number(watchers)), null, 2));
process.exit();
