import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BearerTokenSource, Credentials } from '../../src/kube/credentials.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
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

  describe('with a source of tokens', () => {
    const cluster = { name: 'a', server: 'https://a', skipTLSVerify: false };
    const [former, renewed] = ['former', 'renewed'].map((token) => new Sensitive(token)) as [Sensitive<string>, Sensitive<string>];
    let current: Sensitive<string> | undefined;
    let rejected: (string | undefined)[];
    /** Called when the credentials ask for a valid token. */
    let get: () => Promise<Sensitive<string>>;
    let credentials: Credentials;

    beforeEach(() => {
      [current, rejected, get] = [former, [], async () => former];
      const bearer: BearerTokenSource = {
        get current() {
          return current;
        },
        get: () => get(),
        replace: async (token) => {
          rejected.push(token);
          current = renewed;
          return renewed;
        },
      };
      credentials = new Credentials(cluster, { name: 'purser' }, { clock, rereadMs: 0, bearer });
    });

    it('does not replace a token again that has replaced the rejected one', async () => {
      const old = await credentials.identity();
      expect((await credentials.identity(old)).secret).toBe('renewed');
      expect((await credentials.identity(old)).secret).toBe('renewed');
      expect(rejected).toEqual(['former']);
    });

    it('replaces a rejected token also if a load that began earlier returns this token', async () => {
      const old = await credentials.identity();
      current = undefined;
      const { promise, resolve } = Promise.withResolvers<Sensitive<string>>();
      get = () => promise;
      const [loading, ...replacing] = [credentials.identity(), credentials.identity(old), credentials.identity(old)];
      resolve(former);
      expect((await Promise.all([loading, ...replacing])).map(({ secret }) => secret)).toEqual(['former', 'renewed', 'renewed']);
      expect(rejected).toEqual(['former']);
    });
  });
});
