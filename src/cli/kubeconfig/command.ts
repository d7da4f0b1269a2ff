// `purser kubeconfig`: the command and its options.

import type { Command } from 'commander';
import { anyText, httpsUrl, namespace } from '../../config/values.ts';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand, defineOption } from '../command-line.ts';
import { withVariables } from '../facade/options.ts';
import { addTokenOptions } from '../token/options.ts';
import type { KubeconfigOptions } from './kubeconfig.ts';

/** Returns `purser kubeconfig`. */
export function defineKubeconfigCommand(host: CommandHost): Command {
  const command = addTokenOptions(
    defineCommand(host, 'kubeconfig', 'print a kubeconfig for a cluster, without any secret')
      .description(
        'Print a kubeconfig for a service account on a registered cluster. The kubeconfig contains no secret: clients such as kubectl run the command purser credential to get a token.',
      )
      .option('--merge', 'add the context to your kubeconfig instead of printing a kubeconfig')
      .addOption(defineOption('--name <NAME>', 'name of the context', anyText).default(undefined, 'the name of the cluster'))
      .addOption(
        defineOption('-n, --namespace <NS>', 'namespace of the context', namespace).default(
          undefined,
          'the namespace of the service account',
        ),
      )
      .addOption(
        defineOption('--server <URL>', "registered address of the cluster's API server", httpsUrl).default(
          undefined,
          'the address whose clientCIDR best matches your IP address',
        ),
      ),
  );
  addExamples(command, {
    'Add a context that uses ten-minute tokens': 'purser kubeconfig target-1 deploy/deployer --merge --duration 10m',
    'Use the context': 'kubectl --context target-1 get pods',
    'Write the kubeconfig to a separate file': 'purser kubeconfig target-1 deploy/deployer > target-1.kubeconfig',
  });
  return command.action(async (cluster: string, account: string, options: KubeconfigOptions) => {
    const { writeKubeconfig } = await import('./kubeconfig.ts');
    await writeKubeconfig({ ...withVariables(options, host.env), cluster, account }, host);
  });
}
