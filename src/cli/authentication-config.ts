// `purser print authentication-config`: configuration of a target's API server, so that it accepts tokens of the hub.

import { readFile } from 'node:fs/promises';
import { DefaultNamespace, FederatedServiceAccount, OwnAudiencePrefix } from '../api/names.ts';
import { StartError } from '../config/start-error.ts';
import { anyText, namespace, objectName, type Parser, ValueError } from '../config/values.ts';
import { isClusterLocalIssuer } from '../targets/policy/federation.ts';
import { serverUrl } from '../targets/policy/registration.ts';
import type { PrintOptions } from './print-options.ts';

/** Returns the configuration with instructions. Throws a StartError for invalid options. */
export async function printAuthenticationConfig(options: PrintOptions): Promise<string> {
  const servers = options.all('server', address);
  const issuer = options.one('issuer', httpsUrl);
  if (issuer === undefined || servers.length === 0)
    throw new StartError('purser print authentication-config needs --issuer and --server (for all options, run purser help print)');
  const targetIssuer = options.one('target-issuer', anyText);
  if (targetIssuer === issuer) throw new StartError(sameIssuer(issuer));
  const name = options.one('service-account', objectName) ?? FederatedServiceAccount;
  const subject = `system:serviceaccount:${options.one('namespace', namespace) ?? DefaultNamespace}:${name}`;
  const discoveryUrl = options.one('discovery-url', httpsUrl);
  const caFile = options.one('ca', anyText);
  const trust = {
    issuer,
    isDistinct: targetIssuer !== undefined,
    subject,
    discoveryUrl,
    caFile,
    audiences: servers.map((server) => `${OwnAudiencePrefix}${server}`),
  };
  const minor = options.one('kubernetes-version', minorVersion) ?? V1_MINOR;
  return minor < V1BETA1_MINOR ? flags(trust) : await configuration(trust, minor < V1_MINOR ? 'v1beta1' : 'v1');
}

/** The hub's issuer, and the tokens of it that the target accepts. */
interface Trust {
  readonly issuer: string;
  /** True if the issuer is known to differ from that of the target. */
  readonly isDistinct: boolean;
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly discoveryUrl: string | undefined;
  readonly caFile: string | undefined;
}

/** Minor versions of Kubernetes that introduced the versions of the configuration. */
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

const FILE = 'Write this file to the nodes of the control plane, and start kube-apiserver with --authentication-config=FILE.';

/** Returns the flags of kube-apiserver before 1.30. */
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
  return `# Makes the target cluster accept tokens of one service account of the hub, for its own addresses only. ${use}
# The issuer must differ from --service-account-issuer of the target cluster.
${local}# The target cluster reads the hub's discovery document and keys without authentication. Allow that on the hub:
#   kubectl --context HUB create clusterrolebinding purser-issuer-discovery \\
#     --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated
# For the permissions on the target cluster, run: purser print target-rbac --user '${PREFIX}${subject}'
`;
}

function sameIssuer(issuer: string): string {
  return `hub and target cluster have the same issuer, ${issuer}, so that the target cluster cannot trust tokens of the hub. Set --service-account-issuer of the hub's API server to its own URL`;
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

const httpsUrl: Parser<string> = (text) => {
  const url = URL.parse(text);
  const isPlain = url !== null && url.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '';
  if (!isPlain || /[\s"\\]/.test(text)) throw new ValueError('an https URL without query');
  return text;
};

/** Parses an address and keeps its spelling, which becomes part of the audience. */
const address: Parser<string> = (text) => {
  if (serverUrl(text) === undefined) throw new ValueError('an https URL, or a host with a port, as in the key server of the Secret');
  return text;
};

const minorVersion: Parser<number> = (text) => {
  const [, minor] = /^v?1\.(\d{1,3})(\.\d+)?$/.exec(text) ?? [];
  if (minor === undefined) throw new ValueError('a version of Kubernetes, such as 1.34');
  return Number(minor);
};
