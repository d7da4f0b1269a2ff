import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { checkCertificateFiles } from '../../src/config/preflight.ts';
import { StartError } from '../../src/config/start-error.ts';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { newFolder } from '../support/folders.ts';

let folder: string;
const check = (cert: string, key: string) => checkCertificateFiles({ facadeTlsCert: join(folder, cert), facadeTlsKey: join(folder, key) });

beforeAll(async () => {
  folder = await newFolder();
  const authority = createAuthority(Date.now());
  const { certificate, key } = issueServerCertificate(authority, ['purser'], Date.now());
  const files = { 'tls.crt': certificate, 'tls.key': key, 'other.key': authority.key, nonsense: 'nonsense' };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
});

describe('checkCertificateFiles', () => {
  it('accepts a matching certificate and key, and a configuration without files', async () => {
    await check('tls.crt', 'tls.key');
    await checkCertificateFiles({ facadeTlsCert: undefined, facadeTlsKey: undefined });
  });

  it.each([
    ['a missing certificate file', 'missing.crt', 'tls.key', /no such file or directory.*missing\.crt/],
    ['a missing key file', 'tls.crt', 'missing.key', /no such file or directory.*missing\.key/],
    ['a file that is not PEM', 'nonsense', 'tls.key', /PEM/],
    ['a key of another certificate', 'tls.crt', 'other.key', /mismatch/],
  ])('rejects %s', async (_, cert, key, why) => {
    const result = check(cert, key);
    await expect(result).rejects.toThrow(StartError);
    await expect(result).rejects.toThrow(why);
    await expect(result).rejects.toThrow('--facade-tls-cert');
  });
});
