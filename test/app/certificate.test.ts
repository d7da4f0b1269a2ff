import { X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { selectCertificateSource, waitForCertificate, withFallback } from '../../src/app/certificate.ts';
import { type CertificateSource, followCertificate, type ServingCertificate } from '../../src/facade/certificate.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { appSettings } from '../support/app-settings.ts';
import { FakeClock } from '../support/clock.ts';

const FOUND = { cert: 'found', key: 'key' };

function world(missing: number) {
  const lines: string[] = [];
  const clock = new FakeClock();
  let attempts = 0;
  const certificate: CertificateSource = async () => {
    attempts += 1;
    if (attempts <= missing) throw new Error('no certificate yet');
    return FOUND;
  };
  const log = createLogger({ level: 'info', readable: false, write: (line) => void lines.push(line) });
  return { clock, log, lines, certificate, attempts: () => attempts };
}

/** Advances the clock by `count` seconds, and runs due timers after each second. */
async function seconds(clock: FakeClock, count: number): Promise<void> {
  for (let second = 0; second < count; second++) {
    await new Promise(setImmediate);
    clock.advance(1_000);
  }
  await new Promise(setImmediate);
}

describe('selectCertificateSource', () => {
  it("returns a self-signed certificate for the façade's Service, the host and loopback", async () => {
    const { clock, log } = world(0);
    const settings = appSettings({ namespace: 'purser-system' });
    const { cert } = await selectCertificateSource({ clock, log, settings }, {} as KubeClient)();
    const made = new X509Certificate(cert);
    const names = ['purser', 'purser.purser-system.svc', 'purser.purser-system.svc.cluster.local', hostname(), 'localhost'];

    expect(names.filter((name) => made.checkHost(name) === undefined)).toEqual([]);
    expect(made.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(made.checkHost('purser.elsewhere.svc')).toBeUndefined();
  });
});

describe('waitForCertificate', () => {
  it('waits until a certificate is found', async () => {
    const { clock, certificate, attempts } = world(3);
    const waiting = waitForCertificate(certificate, clock, new AbortController().signal);
    await seconds(clock, 3);
    await waiting;

    expect(attempts()).toBe(4);
  });

  it('rejects when the start is aborted', async () => {
    const { clock, certificate } = world(Number.POSITIVE_INFINITY);
    const stopping = new AbortController();
    const waiting = waitForCertificate(certificate, clock, stopping.signal);
    await seconds(clock, 2);
    stopping.abort(new Error('stopped'));

    await expect(waiting).rejects.toThrow('stopped');
  });
});

describe('withFallback', () => {
  it('returns the self-signed fallback certificate first, and never again', async () => {
    const { clock, certificate } = world(1);
    const source = withFallback(certificate, clock.now());

    expect((await source()).cert).toContain('BEGIN CERTIFICATE');
    await expect(source()).rejects.toThrow('no certificate yet');
    expect([await source(), await source()]).toEqual([FOUND, FOUND]);
  });
});

describe('followCertificate', () => {
  it('logs the replacement of a certificate, but not of the fallback', async () => {
    const { clock, log, lines } = world(0);
    let current = FOUND;
    const source = withFallback(async () => current, clock.now());
    const used: string[] = [];
    const useCertificate = ({ cert }: ServingCertificate) => void used.push(cert);
    const stop = followCertificate({ certificate: source, clock, log }, await source(), { useCertificate });
    await seconds(clock, 11);
    expect([used, lines]).toEqual([['found'], []]);

    current = { cert: 'renewed', key: 'key' };
    await seconds(clock, 10);
    stop();
    expect(used).toEqual(['found', 'renewed']);
    expect(lines.join()).toContain('serving certificate replaced');
  });
});
