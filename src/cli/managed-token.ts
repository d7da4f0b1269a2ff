// `purser rotate`, `revoke`, `suspend` and `resume`: commands for one ManagedToken.

import type { Command } from 'commander';
import { StartError } from '../config/start-error.ts';
import { validateDns1123Subdomain } from '../kubernetes/names.ts';
import type { CommandHost } from './command.ts';
import { addExamples, defineCommand } from './command-line.ts';
import { defineContextOption, defineKubeconfigOption, defineNamespaceOption, defineTimeoutOption, type SharedOptions } from './options.ts';
import type { TokenAction } from './token-actions.ts';

/**
 * Returns the name in `NAME` or `TYPE/NAME`. TYPE is `mt`, `managedtoken` or `managedtokens`, with or without an API group. Throws a
 * StartError for any other string.
 */
export function parseManagedTokenName(text: string): string {
  const [resource = '', name = '', ...rest] = text.includes('/') ? text.split('/') : ['mt', text];
  const [kind = ''] = resource.split('.');
  if (!['mt', 'managedtoken', 'managedtokens'].includes(kind.toLowerCase()) || validateDns1123Subdomain(name).length > 0 || rest.length > 0)
    throw new StartError(`${JSON.stringify(text)} is not the name of a ManagedToken. Write mt/NAME, and select its namespace with -n`);
  return name;
}

/** Returns the commands that change a ManagedToken and wait for the result. */
export function defineManagedTokenCommands(host: CommandHost): readonly Command[] {
  return (Object.keys(DESCRIPTIONS) as TokenAction[]).map((action) => defineChangeCommand(host, action));
}

const DESCRIPTIONS: Readonly<Record<TokenAction, readonly [summary: string, description: string]>> = {
  rotate: [
    'replace the token of a ManagedToken now',
    'Replace the token of a ManagedToken now, and wait for the new token. The old token stays valid until it expires.',
  ],
  revoke: [
    'revoke the token of a ManagedToken now',
    'Revoke the token of a ManagedToken, and wait for the new token unless rotation is suspended. The ManagedToken must have spec.revocation BoundSecret. The target cluster rejects the old token within seconds.',
  ],
  suspend: [
    'suspend the rotation of a ManagedToken',
    'Suspend the rotation of a ManagedToken. The token stays in the Secret until it expires, unless it is revoked, the requester loses permission, or a change to the spec requires a different token.',
  ],
  resume: ['resume the rotation of a ManagedToken', 'Resume the rotation of a ManagedToken, and wait for a valid token.'],
};

function defineChangeCommand(host: CommandHost, action: TokenAction): Command {
  const [summary, description] = DESCRIPTIONS[action];
  const command = defineCommand(host, action, summary)
    .description(description)
    .argument('<mt/NAME>', 'name of the ManagedToken; mt/ can be omitted')
    .addOption(defineNamespaceOption())
    .addOption(defineTimeoutOption('1m', 'maximum time to wait until Purser has applied the change (0 does not wait)'))
    .addOption(defineContextOption())
    .addOption(defineKubeconfigOption());
  addExamples(command, {
    [`${description.slice(0, description.indexOf('.')).split(',')[0]}`]: `purser ${action} mt/ci-deployer -n team-a`,
  });
  return command.action(async (text: string, options: SharedOptions) => {
    const name = parseManagedTokenName(text);
    const { Connections } = await import('./connection.ts');
    const { callPeer } = await import('./cluster/peer.ts');
    const { requestChange } = await import('./token-actions.ts');
    await using connections = new Connections(host, options.kubeconfig);
    const peer = await connections.openPeer('hub', options.context);
    const namespace = options.namespace ?? (await connections.readNamespace(options.context));
    const timeoutMs = options.timeout ?? 0;
    await callPeer(peer, () => requestChange({ hub: peer, namespace, name, action, timeoutMs }, host));
  });
}
