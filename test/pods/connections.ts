// TCP connections from the network of a pod.

import { run } from '../support/run.ts';

/** Time after which a packet without a response is considered dropped, in milliseconds. */
const DROPPED_MS = 3_000;

/** Connects from the network of a process, and returns `connected`, `dropped`, or the code of the error. */
export async function connectFrom(pid: number, host: string, port: number): Promise<string> {
  const script = `
    const socket = require('node:net').connect(${port}, '${host}');
    const end = (result) => { console.log(result); process.exit(); };
    socket.on('connect', () => end('connected')).on('error', ({ code }) => end(code));
    setTimeout(() => end('dropped'), ${DROPPED_MS});`;
  const { output } = await run('nsenter', ['--target', String(pid), '--net', process.execPath, '--eval', script], { NODE_OPTIONS: '' });
  return output.trim();
}
