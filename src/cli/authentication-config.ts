// Configuration of a target's API server, so that it accepts tokens issued by the hub.

import { readFile } from 'node:fs/promises';
import { DefaultNamespace, FederatedServiceAccount, OwnAudiencePrefix } from '../api/names.ts';
import { StartError } from '../config/start-error.ts';
import { isClusterLocalIssuer } from '../targets/policy/token-claims.ts';

export interface AuthenticationOptions {
  /** Issuer of the hub's tokens. */
  readonly issuer: string;
  /** Issuer of the target cluster's tokens; undefined to skip the comparison. */
  readonly targetIssuer?: string;
  /** Addresses of the target cluster as the Secret spells them. */
  readonly server: readonly string[];
  /** Service account on the hub; undefined for the default. */
  readonly serviceAccount?: string;
  /** Purser's namespace on the hub; undefined for the default. */
  readonly namespace?: string;
  /** Path of the issuer's certificate authority; undefined for public CAs. */
  readonly ca?: string;
  /** URL of the discovery document; undefined for the issuer's own URL. */
  readonly discoveryUrl?: string;
  /** Minor version of the target cluster; undefined for 1.34 or later. */
  readonly kubernetesVersion?: number;
}

/** Returns the configuration with instructions. Throws a StartError for incompatible options. */
export async function authenticationConfig(options: AuthenticationOptions): Promise<string> {
  const { issuer, targetIssuer, server, discoveryUrl, ca: caFile, kubernetesVersion: minor = V1_MINOR } = options;
  if (targetIssuer === issuer) throw new StartError(sameIssuer(issuer));
  const { namespace = DefaultNamespace, serviceAccount = FederatedServiceAccount } = options;
  const subject = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const audiences = server.map((address) => `${OwnAudiencePrefix}${address}`);
  const trust = { issuer, isDistinct: targetIssuer !== undefined, subject, discoveryUrl, caFile, audiences };
  return minor < V1BETA1_MINOR ? flags(trust) : await configuration(trust, minor < V1_MINOR ? 'v1beta1' : 'v1');
}

/** The hub's issuer, and those of its tokens that the target accepts. */
interface Trust {
  readonly issuer: string;
  /** True if the issuer is known to differ from the target's issuer. */
  readonly isDistinct: boolean;
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly discoveryUrl: string | undefined;
  readonly caFile: string | undefined;
}

/** Kubernetes minor versions that introduced each version of the configuration. */
const V1_MINOR = 34;
const V1BETA1_MINOR = 30;
const PREFIX = 'hub:';

async function configuration(trust: Trust, version: string): Promise<string> {
  const { issuer, subject, audiences, discoveryUrl, caFile } = trust;
  const lines = [
    `apiVersion: apiserver.config.k8s.io/${version}`,
    'kind: AuthenticationConfiguration',
    'jwt:',
    '  - issuer:',
    `      url: ${JSON.stringify(issuer)}`,
    ...(discoveryUrl === undefined ? [] : [`      discoveryURL: ${JSON.stringify(discoveryUrl)}`]),
    '      audiences:',
    ...audiences.map((audience) => `        - ${JSON.stringify(audience)}`),
    ...(audiences.length > 1 ? ['      audienceMatchPolicy: MatchAny'] : []),
    ...(caFile === undefined ? [] : ['      certificateAuthority: |', (await readAuthority(caFile)).replace(/^/gm, '        ')]),
    '    claimValidationRules:',
    '      - claim: sub',
    `        requiredValue: ${JSON.stringify(subject)}`,
    '    claimMappings:',
    '      username:',
    '        claim: sub',
    `        prefix: ${JSON.stringify(PREFIX)}`,
  ];
  return `${recipe(trust, FILE)}${lines.join('\n')}\n`;
}

const FILE = 'Write this file to the control plane nodes, and start kube-apiserver with --authentication-config=FILE.';

/** Returns the flags for kube-apiserver before 1.30. */
function flags(trust: Trust): string {
  const { issuer, subject, audiences, discoveryUrl, caFile } = trust;
  if (audiences.length > 1) throw new StartError('before Kubernetes 1.30, an API server accepts one audience; set --server once');
  if (discoveryUrl !== undefined)
    throw new StartError('before Kubernetes 1.30, an API server reads the discovery document of the issuer only; omit --discovery-url');
  return `${recipe(trust, 'Start kube-apiserver with these flags.')}--oidc-issuer-url=${issuer}
--oidc-client-id=${audiences[0]}
--oidc-username-claim=sub
--oidc-username-prefix=${PREFIX}
--oidc-required-claim=sub=${subject}
${caFile === undefined ? '' : `--oidc-ca-file=${caFile}\n`}`;
}

function recipe({ issuer, isDistinct, subject }: Trust, use: string): string {
  const local = isClusterLocalIssuer(issuer) && !isDistinct ? LOCAL_ISSUER : '';
  return `# Makes the target cluster accept tokens for one service account on the hub, for its own addresses only. ${use}
# The issuer must differ from --service-account-issuer of the target cluster.
${local}# The target cluster reads the hub's discovery document and keys without authentication. Allow that on the hub:
#   kubectl --context HUB create clusterrolebinding purser-issuer-discovery \\
#     --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated
# For the permissions on the target cluster, run: purser print target-rbac --user '${PREFIX}${subject}'
`;
}

function sameIssuer(issuer: string): string {
  return `hub and target cluster have the same issuer, ${issuer}, so the target cluster cannot trust tokens issued by the hub. Set --service-account-issuer of the hub's API server to its own URL`;
}

const LOCAL_ISSUER = `# WARNING: this issuer is the default of many clusters. If it is also the issuer of the target cluster, kube-apiserver does not start:
# set --service-account-issuer of the hub to its own URL first.
`;

async function readAuthority(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new StartError(`cannot read --ca: ${(cause as Error).message}`, { cause });
  });
  if (!/^-----BEGIN CERTIFICATE-----\r?$/m.test(text) || text.includes('PRIVATE KEY'))
    throw new StartError(`--ca must be a file with PEM certificates, not ${JSON.stringify(path)}`);
  return text.trimEnd();
}
