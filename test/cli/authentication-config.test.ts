import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createAuthority } from '../../src/std/x509/certificates.ts';
import { newFolder } from '../support/folders.ts';
import { runPurser } from '../support/run-purser.ts';

const SUBJECT = 'system:serviceaccount:purser-system:purser-federated';
const ISSUER = ['--issuer', 'https://hub.example.com'];
const SERVER = ['--server', 'https://target-1.example.com:6443'];
const authority = createAuthority(Date.now());
let folder: string;

beforeAll(async () => {
  folder = await newFolder();
});

async function print(...args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await runPurser(['print', 'authentication-config', ...args]);
  if (code !== 0) throw new Error(stderr);
  return output;
}

describe('purser print authentication-config', () => {
  it('prints a configuration that admits one service account with the audience of one address', async () => {
    expect(parse(await print(...ISSUER, ...SERVER))).toEqual({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url: 'https://hub.example.com', audiences: ['purser:https://target-1.example.com:6443'] },
          claimValidationRules: [{ claim: 'sub', requiredValue: SUBJECT }],
          claimMappings: { username: { claim: 'sub', prefix: 'hub:' } },
        },
      ],
    });
  });

  it('prints several audiences exactly as the addresses are spelled, and the CA and discovery URL of the issuer', async () => {
    const ca = join(folder, 'ca.crt');
    await writeFile(ca, `${authority.certificate}${authority.certificate}`);
    const url = 'https://10.0.0.1:6443/.well-known/openid-configuration';
    const more = ['--server', 'B.example.com:443/api/', '--ca', ca, '--discovery-url', url];
    const named = ['--service-account', 'other', '--namespace', 'tokens'];
    expect(parse(await print(...ISSUER, ...SERVER, ...more, ...named)).jwt).toMatchObject([
      {
        issuer: {
          discoveryURL: url,
          audiences: ['purser:https://target-1.example.com:6443', 'purser:B.example.com:443/api/'],
          audienceMatchPolicy: 'MatchAny',
          certificateAuthority: `${authority.certificate}${authority.certificate}`,
        },
        claimValidationRules: [{ requiredValue: 'system:serviceaccount:tokens:other' }],
      },
    ]);
  });

  it.each([
    ['1.36', 'v1'],
    ['v1.34.2', 'v1'],
    ['1.33', 'v1beta1'],
    ['1.30.0', 'v1beta1'],
  ])('prints the apiVersion for Kubernetes %s: %s', async (version, expected) => {
    const { apiVersion } = parse(await print(...ISSUER, ...SERVER, '--kubernetes-version', version));
    expect(apiVersion).toBe(`apiserver.config.k8s.io/${expected}`);
  });

  it('prints flags for Kubernetes before 1.30', async () => {
    const text = await print(...ISSUER, ...SERVER, '--kubernetes-version', '1.29', '--ca', 'hub.crt');
    expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
      '--oidc-issuer-url=https://hub.example.com',
      '--oidc-client-id=purser:https://target-1.example.com:6443',
      '--oidc-username-claim=sub',
      '--oidc-username-prefix=hub:',
      `--oidc-required-claim=sub=${SUBJECT}`,
      '--oidc-ca-file=hub.crt',
      '',
    ]);
  });

  it('prints the commands for the hub and the target, and a warning about an issuer that many clusters share', async () => {
    const text = await print(...ISSUER, ...SERVER);
    expect(text).toContain('--clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated');
    expect(text).toContain(`purser print target-rbac --user 'hub:${SUBJECT}'`);
    expect(text).not.toContain('WARNING');
    const local = ['--issuer', 'https://kubernetes.default.svc.cluster.local', ...SERVER];
    expect(await print(...local)).toContain('# WARNING: many clusters have this issuer');
    expect(await print(...local, '--target-issuer', 'https://target-1.example.com')).not.toContain('WARNING');
  });

  it.each([
    [[], "required option '--issuer URL' not specified"],
    [ISSUER, "required option '--server ADDRESS' not specified"],
    [SERVER, "required option '--issuer URL' not specified"],
    [['--issuer', 'http://hub', ...SERVER], '--issuer must be an https URL without user, query or fragment, not "http://hub"'],
    [['--issuer', 'https://hub?a', ...SERVER], '--issuer must be an https URL'],
    [[...ISSUER, '--server', 'http://a'], '--server must be an https URL or a host'],
    [[...ISSUER, '--server', 'https://a b'], '--server must be an https URL or a host'],
    [
      [...ISSUER, ...SERVER, '--target-issuer', 'https://hub.example.com'],
      'the hub and the target cluster have the same issuer, https://hub.example.com, so the target cluster cannot trust tokens issued by the hub. Set ' +
        "--service-account-issuer of the hub's API server to the hub's own URL",
    ],
    [[...ISSUER, ...SERVER, '--kubernetes-version', '2'], '--kubernetes-version must be a version of Kubernetes, such as 1.34, not "2"'],
    [[...ISSUER, ...SERVER, ...SERVER, '--kubernetes-version', '1.29'], 'accepts only one audience. Set --server once'],
    [[...ISSUER, ...SERVER, '--kubernetes-version', '1.29', '--discovery-url', 'https://a'], 'Omit --discovery-url'],
    [[...ISSUER, ...SERVER, '--ca', 'missing.crt'], 'cannot read --ca: ENOENT'],
    [[...ISSUER, ...SERVER, '--ca', import.meta.filename], '--ca must be a PEM file with certificates and without a private key'],
  ])('rejects %j', async (args, text) => {
    await expect(print(...args)).rejects.toThrow(text);
  });
});
