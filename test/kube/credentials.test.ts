import { describe, expect, it } from '@jest/globals';
import { Credentials } from '../../src/kube/credentials.ts';
import { createAuthority } from '../../src/std/x509/certificates.ts';
import { FakeClock } from '../support/clock.ts';

describe('Credentials', () => {
  const clock = new FakeClock();

  /** Returns the TLS context for a token and a certificate authority; a new authority by default. */
  async function contextOf(token: string, ca = createAuthority(clock.now()).certificate) {
    const cluster = { name: 'a', server: 'https://a', skipTLSVerify: false, caData: Buffer.from(ca).toString('base64') };
    const { tls } = await new Credentials(cluster, { name: 'purser', token }, { clock, rereadMs: 0 }).identity();
    return tls.secureContext;
  }

  it('shares a TLS context only between tokens with the same certificate authorities', async () => {
    const ca = createAuthority(clock.now()).certificate;
    const context = await contextOf('former', ca);
    expect(await contextOf('renewed', ca)).toBe(context);
    expect(await contextOf('renewed')).not.toBe(context);
  });
});
