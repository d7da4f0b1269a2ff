// `purser print`: manifests and configuration that register a target cluster.

import type { Command } from 'commander';
import { FederatedServiceAccount } from '../api/names.ts';
import { anyText, objectName, type Parser, ValueError } from '../config/values.ts';
import { normalizeServer } from '../targets/policy/registration.ts';
import type { AuthenticationOptions } from './authentication-config.ts';
import type { CommandHost } from './command.ts';
import { addExamples, defineCommand, defineRepeatableOption, defineSingleOption } from './command-line.ts';
import type { HubAccessOptions, TargetAccessOptions } from './manifests.ts';
import { defineOwnNamespaceOption, defineSetOption, defineTargetNamespacesOption, federatedServiceAccount } from './options.ts';

/** Returns `purser print` with its commands. */
export function definePrintCommand(host: CommandHost): Command {
  return defineCommand(host, 'print', 'print manifests and configuration that register a cluster')
    .description('Print manifests and configuration that register a target cluster, with instructions.')
    .addCommand(defineTargetAccessCommand(host))
    .addCommand(defineRegistrationCommand(host))
    .addCommand(defineHubAccessCommand(host))
    .addCommand(defineAuthenticationCommand(host));
}

function defineTargetAccessCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'target-rbac', "print Purser's service account and permissions, for the target cluster")
    .description("Print Purser's service account and permissions, to apply to the target cluster.")
    .addOption(defineTargetNamespacesOption())
    .addOption(defineSingleOption('--user <USER>', FEDERATED_USER, userName));
  addExamples(command, {
    'Let Purser issue tokens in two namespaces only':
      'purser print target-rbac --namespaces deploy,argocd | kubectl --context TARGET apply -f -',
  });
  return command.action(async (options: TargetAccessOptions) => {
    const { renderTargetAccess } = await import('./manifests.ts');
    host.print(await renderTargetAccess(options));
  });
}

const FEDERATED_USER =
  "Purser's user name on the target cluster, for federation; the user receives the permissions instead of a service account";

function defineRegistrationCommand(host: CommandHost): Command {
  return defineCommand(host, 'registration', 'print a Cluster manifest to apply to the hub')
    .description('Print a Cluster manifest to edit and apply to the hub.')
    .addOption(defineSetOption())
    .action(async ({ set }: { readonly set?: string }) => {
      const { renderRegistration } = await import('./manifests.ts');
      host.print(await renderRegistration(set));
    });
}

function defineHubAccessCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'hub-rbac', 'print the service account and permissions for federation, to apply to the hub')
    .description(
      "Print manifests to apply to the hub: the service accounts for federation, and Purser's permission to request tokens for them.",
    )
    .addOption(defineRepeatableOption('--service-account <NAME>', HUB_SERVICE_ACCOUNT, federatedServiceAccount).makeOptionMandatory())
    .addOption(defineOwnNamespaceOption())
    .option('--apart', APART);
  addExamples(command, {
    'Print the objects that let Purser request tokens for a service account': `purser print hub-rbac --service-account ${FederatedServiceAccount}`,
  });
  return command.action(async (options: HubAccessOptions) => {
    const { renderHubAccess } = await import('./manifests.ts');
    host.print(await renderHubAccess(options));
  });
}

const HUB_SERVICE_ACCOUNT = "service account in Purser's namespace, for federation (required)";
const APART =
  'grant the permissions to the service accounts purser-controller and purser-facade instead of purser, if the controller and the façade run as separate Deployments';

function defineAuthenticationCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'authentication-config', "print the configuration of a target cluster's API server, for federation")
    .description('Print the configuration that lets the API server of a target cluster accept tokens issued by the hub (federation).')
    .addOption(
      defineSingleOption('--issuer <URL>', "issuer of the hub's service account tokens (required)", httpsUrl).makeOptionMandatory(),
    )
    .addOption(defineSingleOption('--target-issuer <URL>', TARGET_ISSUER, anyText))
    .addOption(defineRepeatableOption('--server <ADDRESS>', ADDRESS, address).makeOptionMandatory())
    .addOption(
      defineSingleOption('--service-account <NAME>', TRUSTED_SERVICE_ACCOUNT, objectName).default(undefined, FederatedServiceAccount),
    )
    .addOption(defineOwnNamespaceOption())
    .addOption(
      defineSingleOption(
        '--ca <FILE>',
        'PEM file with the CA certificates of the server that publishes the discovery document',
        anyText,
      ).default(undefined, 'public CAs'),
    )
    .addOption(
      defineSingleOption('--discovery-url <URL>', "URL of the hub's discovery document", httpsUrl).default(
        undefined,
        'ISSUER/.well-known/openid-configuration',
      ),
    )
    .addOption(
      defineSingleOption('--kubernetes-version <VERSION>', 'version of the target cluster, such as 1.30', minorVersion).default(
        undefined,
        '1.34 or later',
      ),
    );
  addExamples(command, {
    'Print the configuration that lets a target cluster accept tokens issued by the hub':
      'purser print authentication-config --issuer https://hub.example.com --server https://target-1.example.com:6443',
  });
  return command.action(async (options: AuthenticationOptions) => {
    const { renderAuthenticationConfig } = await import('./authentication-config.ts');
    host.print(await renderAuthenticationConfig(options));
  });
}

const TARGET_ISSUER = "issuer of the target cluster's service account tokens, to check that it differs from --issuer";
const TRUSTED_SERVICE_ACCOUNT = "service account in Purser's namespace on the hub whose tokens the target cluster accepts";
const ADDRESS = 'address of the target cluster, exactly as in the server key of the credential Secret (required)';

/** Parses a user name. Rejects quotes, whitespace and control characters, because manifests and commands contain the name in quotes. */
const userName: Parser<string> = (text) => {
  if (!/^[^\p{C}\s'"]+$/u.test(text)) throw new ValueError('a user name without quotes, whitespace and control characters');
  return text;
};

const httpsUrl: Parser<string> = (text) => {
  const url = URL.parse(text);
  const isPlain = url !== null && url.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '';
  if (!isPlain || /[\s"\\]/.test(text)) throw new ValueError('an https URL without user, query or fragment');
  return text;
};

/** Parses an address and keeps its spelling, which becomes part of the audience. */
const address: Parser<string> = (text) => {
  if (normalizeServer(text) === undefined) throw new ValueError('an https URL or a host, as in the server key of the credential Secret');
  return text;
};

const minorVersion: Parser<number> = (text) => {
  const [, minor] = /^v?1\.(\d{1,3})(\.\d+)?$/.exec(text) ?? [];
  if (minor === undefined) throw new ValueError('a version of Kubernetes, such as 1.34');
  return Number(minor);
};
