import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createNameLookup } from '../../src/kube/addresses.ts';
import { eventually } from '../contract/eventually.ts';
import { type DnsServer, startDnsServer, type Zone } from '../support/dns-server.ts';
import { newFolder } from '../support/folders.ts';

let server: DnsServer;

async function lookupIn(zone: Zone, hosts = ''): Promise<ReturnType<typeof createNameLookup>> {
  server = await startDnsServer(zone);
  const hostsFile = join(await newFolder(), 'hosts');
  await writeFile(hostsFile, hosts);
  return createNameLookup({ servers: [server.address], hostsFile });
}

afterEach(() => server.close());

const four = (address: string) => ({ address, family: 4 });
const six = (address: string) => ({ address, family: 6 });

describe('createNameLookup', () => {
  it('returns IPv4 and IPv6 addresses from name servers', async () => {
    const lookup = await lookupIn(() => ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    expect(await lookup('api.test')).toEqual([four('192.0.2.1'), four('192.0.2.2'), six('2001:db8::1')]);
  });

  it('returns addresses of an IPv6-only name', async () => {
    const lookup = await lookupIn(() => ['2001:db8::1']);
    expect(await lookup('api.test')).toEqual([six('2001:db8::1')]);
  });

  it('queries the name servers for every lookup', async () => {
    const responses = [['192.0.2.1'], ['192.0.2.9']];
    let round = 0;
    const lookup = await lookupIn(() => responses[round]);
    expect(await lookup('api.test')).toEqual([four('192.0.2.1')]);
    round = 1;
    expect(await lookup('api.test')).toEqual([four('192.0.2.9')]);
  });

  it('prefers the hosts file to name servers', async () => {
    const lookup = await lookupIn(() => ['192.0.2.1'], '# names\n10.0.0.1 api.test API # ours\nfd00::1\tApi.Test\nnonsense api.test\n');
    expect(await lookup('api.TEST')).toEqual([four('10.0.0.1'), six('fd00::1')]);
    expect(server.queries).toEqual([]);
  });

  it("falls back to the system's resolver for names that the name servers do not know", async () => {
    const lookup = await lookupIn(() => []);
    expect(await lookup('localhost')).toContainEqual(four('127.0.0.1'));
    await expect(lookup('no-such-host.invalid')).rejects.toMatchObject({ name: 'TransportError', code: expect.stringMatching(/^E/) });
  });

  it('rejects with EAI_AGAIN while the name servers are silent', async () => {
    const lookup = await lookupIn(() => undefined);
    await expect(lookup('api.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('resolves a name immediately while a thousand other names hang', async () => {
    const lookup = await lookupIn((name) => (name === 'healthy.test' ? ['192.0.2.1'] : undefined));
    const dead: Promise<unknown>[] = [];
    let settled = 0;
    while (dead.length < 1_000) {
      const names = Array.from({ length: 50 }, (_, index) => `dead-${dead.length + index}.test`);
      dead.push(...names.map((name) => lookup(name).catch(() => (settled += 1))));
      // An overloaded name server drops queries.
      await eventually(async () => expect(new Set(server.queries).size).toBe(dead.length));
    }
    expect(await lookup('healthy.test')).toEqual([four('192.0.2.1')]);
    expect(settled).toBeLessThan(1_000);
    await Promise.all(dead);
  });
});
