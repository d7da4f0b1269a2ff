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

describe('the files of a certificate', () => {
  it('pass where they belong together, and where none are named', async () => {
    await check('tls.crt', 'tls.key');
    await checkCertificateFiles({ facadeTlsCert: undefined, facadeTlsKey: undefined });
  });

  it.each([
    ['one that is not there', 'missing.crt', 'tls.key', /no such file or directory.*missing\.crt/],
    ['a key that is not there', 'tls.crt', 'missing.key', /no such file or directory.*missing\.key/],
    ['no certificate', 'nonsense', 'tls.key', /PEM/],
    ['the key of another one', 'tls.crt', 'other.key', /mismatch/],
  ])('are refused before anything starts: %s', async (_, cert, key, why) => {
    const refused = check(cert, key);
    await expect(refused).rejects.toThrow(StartError);
    await expect(refused).rejects.toThrow(why);
    await expect(refused).rejects.toThrow('--facade-tls-cert');
  });
});
