// Configuration that makes the API server of a target accept tokens issued by the hub.

import { readFile } from 'node:fs/promises';
import { DefaultNamespace, FederatedServiceAccount, OwnAudiencePrefix } from '../api/names.ts';
import { StartError } from '../config/start-error.ts';
import { isClusterLocalIssuer } from '../targets/policy/token-claims.ts';

export interface AuthenticationOptions {
  /** Issuer of the hub's tokens. */
  readonly issuer: string;
  /** Issuer of the target cluster's tokens; undefined to skip the comparison with `issuer`. */
  readonly targetIssuer?: string;
  /** Addresses of the target cluster, spelled as in the credential Secret. */
  readonly server: readonly string[];
  /** Name of the service account on the hub whose tokens the target accepts; undefined for the default. */
  readonly serviceAccount?: string;
  /** Purser's namespace on the hub; undefined for the default. */
  readonly namespace?: string;
  /** Path of a PEM file with the CA certificates of the server that publishes the discovery document; undefined for public CAs. */
  readonly ca?: string;
  /** URL of the discovery document; undefined to derive it from the issuer. */
  readonly discoveryUrl?: string;
  /** Kubernetes minor version of the target cluster, such as 33; undefined for 1.34 or later. */
  readonly kubernetesVersion?: number;
}

/**
 * Returns the configuration file (before Kubernetes 1.30, the flags), with instructions in comments. Throws a StartError for incompatible
 * options or an unusable CA file.
 */
export async function renderAuthenticationConfig(options: AuthenticationOptions): Promise<string> {
  const { issuer, targetIssuer, server, discoveryUrl, ca: caFile, kubernetesVersion: minor = V1_MINOR } = options;
  if (targetIssuer === issuer) throw new StartError(describeSameIssuer(issuer));
  const { namespace = DefaultNamespace, serviceAccount = FederatedServiceAccount } = options;
  const subject = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const audiences = server.map((address) => `${OwnAudiencePrefix}${address}`);
  const trust = { issuer, isDistinct: targetIssuer !== undefined, subject, discoveryUrl, caFile, audiences };
  return minor < V1BETA1_MINOR ? renderFlags(trust) : await renderConfiguration(trust, minor < V1_MINOR ? 'v1beta1' : 'v1');
}

/** The hub's issuer, and the subject and audiences that its tokens must have. */
interface Trust {
  readonly issuer: string;
  /** True if the issuer is known to differ from the target's issuer. */
  readonly isDistinct: boolean;
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly discoveryUrl: string | undefined;
  readonly caFile: string | undefined;
}

/** Kubernetes minor version that introduced `v1` of AuthenticationConfiguration. */
const V1_MINOR = 34;
/** Kubernetes minor version that introduced `v1beta1` of AuthenticationConfiguration. */
const V1BETA1_MINOR = 30;
/** Prefix of the user names that the target gives to service accounts of the hub. */
const PREFIX = 'hub:';

async function renderConfiguration(trust: Trust, version: string): Promise<string> {
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
    ...(caFile === undefined ? [] : ['      certificateAuthority: |', (await readCA(caFile)).replace(/^/gm, '        ')]),
    '    claimValidationRules:',
    '      - claim: sub',
    `        requiredValue: ${JSON.stringify(subject)}`,
    '    claimMappings:',
    '      username:',
    '        claim: sub',
    `        prefix: ${JSON.stringify(PREFIX)}`,
  ];
  return `${renderInstructions(trust, FILE_INSTRUCTION)}${lines.join('\n')}\n`;
}

const FILE_INSTRUCTION = 'Write this file to the control plane nodes, and start kube-apiserver with --authentication-config=FILE.';

/** Returns the flags for kube-apiserver before 1.30. Throws a StartError for options that the flags do not support. */
function renderFlags(trust: Trust): string {
  const { issuer, subject, audiences, discoveryUrl, caFile } = trust;
  if (audiences.length > 1) throw new StartError('before Kubernetes 1.30, an API server accepts only one audience. Set --server once');
  if (discoveryUrl !== undefined)
    throw new StartError('before Kubernetes 1.30, an API server reads the discovery document only at the issuer URL. Omit --discovery-url');
  return `${renderInstructions(trust, 'Start kube-apiserver with these flags.')}--oidc-issuer-url=${issuer}
--oidc-client-id=${audiences[0]}
--oidc-username-claim=sub
--oidc-username-prefix=${PREFIX}
--oidc-required-claim=sub=${subject}
${caFile === undefined ? '' : `--oidc-ca-file=${caFile}\n`}`;
}

function renderInstructions({ issuer, isDistinct, subject }: Trust, use: string): string {
  const local = isClusterLocalIssuer(issuer) && !isDistinct ? LOCAL_ISSUER_WARNING : '';
  return `# Makes the target cluster accept tokens that the hub issues for one service account and for audiences derived from
# the target cluster's addresses. ${use}
# The issuer must differ from --service-account-issuer of the target cluster.
${local}# The target cluster reads the hub's discovery document and keys without authentication. Allow this on the hub:
#   kubectl --context HUB create clusterrolebinding purser-issuer-discovery \\
#     --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated
# For the permissions on the target cluster, run: purser print target-rbac --user '${PREFIX}${subject}'
`;
}

function describeSameIssuer(issuer: string): string {
  return `the hub and the target cluster have the same issuer, ${issuer}, so the target cluster cannot trust tokens issued by the hub. Set --service-account-issuer of the hub's API server to the hub's own URL`;
}

const LOCAL_ISSUER_WARNING = `# WARNING: many clusters have this issuer by default. If the target cluster has the same issuer, it cannot trust tokens issued by the hub,
# and kube-apiserver 1.30 or later does not start with this configuration: first set --service-account-issuer of the hub to the hub's own
# URL.
`;

async function readCA(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new StartError(`cannot read --ca: ${(cause as Error).message}. Set --ca to a readable PEM file`, { cause });
  });
  if (!/^-----BEGIN CERTIFICATE-----\r?$/m.test(text) || text.includes('PRIVATE KEY'))
    throw new StartError(`--ca must be a PEM file with certificates and without a private key, not ${JSON.stringify(path)}`);
  return text.trimEnd();
}
