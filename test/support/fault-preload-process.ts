// Preloaded into a process: lets a test shift the clock, block the event loop, or set the name server of the process. Reads its faults
// from a file at startup and on SIGUSR2.

import dns from 'node:dns';
import { readFileSync } from 'node:fs';

interface ProcessFaults {
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

function applyFaults(): void {
  const faults = JSON.parse(readFileSync(process.env['TEST_FAULTS'] ?? '', 'utf8')) as ProcessFaults;
  skewMs = faults.skewMs ?? skewMs;
  const until = performance.now() + (faults.blockMs ?? 0);
  while (performance.now() < until);
}

globalThis.Date = ShiftedDate as DateConstructor;
applyFaults();
process.on('SIGUSR2', applyFaults);

function useNameServer(server: string): void {
  const { Resolver } = dns.promises;
  dns.promises.Resolver = class extends Resolver {
    constructor(...args: ConstructorParameters<typeof Resolver>) {
      super(...args);
      this.setServers([server]);
    }
  };
}

if (process.env['TEST_DNS'] !== undefined) useNameServer(process.env['TEST_DNS']);
