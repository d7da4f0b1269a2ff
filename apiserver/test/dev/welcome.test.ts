import { describe, expect, it } from '@jest/globals';
import { formatWelcomeText, type WelcomeOptions } from '../../dev/welcome.ts';

const run: WelcomeOptions = {
  hub: { name: 'hub', url: 'https://127.0.0.1:7443', kubeconfig: '/home/me/purser/.purser/kubeconfig' },
  targets: [{ name: 'target-1', url: 'https://127.0.0.1:40001', kubeconfig: '/home/me/purser/.purser/target-1.kubeconfig' }],
  facade: 'https://127.0.0.1:7444/orchestrator',
  page: 'https://127.0.0.1:7444/ui/',
  metrics: 'http://127.0.0.1:8080/metrics',
  folder: '/home/me/purser/.purser',
  samples: true,
  cwd: '/home/me/purser',
};

const commands = (options: WelcomeOptions) => formatWelcomeText(options).match(/^ {2}(export|kubectl) .+$/gm) ?? [];

describe('formatWelcomeText', () => {
  it('prints addresses, kubeconfig files and three commands', () => {
    expect(formatWelcomeText(run)).toBe(`Purser is ready:

  hub       https://127.0.0.1:7443                       .purser/kubeconfig
  target-1  https://127.0.0.1:40001                      .purser/target-1.kubeconfig
  façade    https://127.0.0.1:7444/orchestrator/CLUSTER
  web UI    https://127.0.0.1:7444/ui/
  metrics   http://127.0.0.1:8080/metrics

Try in another terminal:

  export KUBECONFIG=$PWD/.purser/kubeconfig
  kubectl get clusters,managedtokens -A
  kubectl create token deployer -n deploy --audience https://kubernetes.default.svc --server https://127.0.0.1:7444/orchestrator/target-1

Press Ctrl-C to stop. Data is stored in .purser. The log follows: by default, warnings and decisions about tokens.
`);
  });

  it('prints no address of a web UI that is not served', () => {
    expect(formatWelcomeText({ ...run, page: undefined })).not.toContain('web UI');
  });

  it('marks the target without a stored token', () => {
    const second = { ...run.hub, name: 'target-2' };
    expect(formatWelcomeText(run)).not.toContain('trusts');
    expect(formatWelcomeText({ ...run, targets: [...run.targets, second] })).toMatch(
      /^ {2}target-2 .+ \(trusts the hub, no stored token\)$/m,
    );
  });

  it('prints at most one screen for 100 targets', () => {
    const targets = Array.from({ length: 100 }, (_, index) => ({ ...run.hub, name: `target-${index + 1}` }));
    const text = formatWelcomeText({ ...run, targets });
    expect(text.split('\n').length).toBeLessThanOrEqual(24);
    expect(text).toMatch(/^ {2}… +more targets: 95 +\.purser$/m);
  });

  it.each([
    ['without samples', { samples: false }, 'create token default -n default --audience https://kubernetes.default.svc --server'],
    ['without targets', { targets: [] }, 'create token default -n default'],
  ])('prints a command for an existing service account %s', (_name, change, command) => {
    expect(commands({ ...run, ...change })[2]).toContain(`  kubectl ${command}`);
  });

  it.each([
    ['/elsewhere', '/home/me/purser/.purser/kubeconfig'],
    ['/home/me', '$PWD/purser/.purser/kubeconfig'],
  ])('prints the kubeconfig path for the working directory %s', (cwd, path) => {
    expect(commands({ ...run, cwd })[0]).toBe(`  export KUBECONFIG=${path}`);
  });

  it('quotes paths with special characters', () => {
    const hub = { ...run.hub, kubeconfig: "/home/me/purser/it's here/kubeconfig" };
    expect(commands({ ...run, hub })[0]).toBe(String.raw`  export KUBECONFIG=$PWD/'it'\''s here/kubeconfig'`);
  });
});
