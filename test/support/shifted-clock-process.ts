// Loaded into a process before its program: lets a test set the clock of that process, or block its event loop.
// Orders are read from a file at the start and on SIGUSR2.

import { readFileSync } from 'node:fs';

interface Orders {
  readonly skewMs?: number;
  readonly blockMs?: number;
}

const RealDate = Date;
let skewMs = 0;

class ShiftedDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(ShiftedDate.now());
    else super(...(args as [number]));
  }

  static override now(): number {
    return RealDate.now() + skewMs;
  }
}

function obey(): void {
  const orders = JSON.parse(readFileSync(process.env['PURSER_TEST_ORDERS'] ?? '', 'utf8')) as Orders;
  skewMs = orders.skewMs ?? skewMs;
  const until = performance.now() + (orders.blockMs ?? 0);
  while (performance.now() < until);
}

globalThis.Date = ShiftedDate as DateConstructor;
obey();
process.on('SIGUSR2', obey);
