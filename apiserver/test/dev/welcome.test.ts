import { describe, expect, it } from '@jest/globals';
import { type WelcomeOptions, welcomeText } from '../../dev/welcome.ts';

const run: WelcomeOptions = {
  hub: {
    name: 'hub',
    url: 'https://127.0.0.1:7443',
    kubeconfig: '/home/me/purser/.purser/kubeconfig',
    ca: '/home/me/purser/.purser/ca.crt',
  },
  targets: [{ name: 'target-1', url: 'https://127.0.0.1:40001', kubeconfig: '/home/me/purser/.purser/target-1.kubeconfig', ca: '' }],
  facade: 'https://127.0.0.1:7444/orchestrator',
  metrics: 'http://127.0.0.1:8080/metrics',
  folder: '/home/me/purser/.purser',
  samples: true,
  cwd: '/home/me/purser',
};

const commands = (options: WelcomeOptions) => welcomeText(options).match(/^ {2}kubectl .+$/gm) ?? [];

describe('welcomeText', () => {
  it('lists servers, addresses and kubeconfig files', () => {
    expect(welcomeText(run)).toContain(
      '\n  hub       https://127.0.0.1:7443   .purser/kubeconfig\n  target-1  https://127.0.0.1:40001  .purser/target-1.kubeconfig\n',
    );
  });

  it('prints the addresses of the façade and of the metrics', () => {
    expect(welcomeText(run)).toContain(
      '\n  façade:  https://127.0.0.1:7444/orchestrator/CLUSTER\n  metrics: http://127.0.0.1:8080/metrics\n',
    );
  });

  it('names the target without a stored credential', () => {
    const second = { ...run.hub, name: 'target-2' };
    expect(welcomeText(run)).not.toContain('trusts');
    expect(welcomeText({ ...run, targets: [...run.targets, second] })).toContain(
      '/metrics\n\ntarget-2 trusts tokens of the hub, so that no credential is stored for it.\n\nTry',
    );
  });

  it('prints kubectl commands for the hub, a target and the façade', () => {
    expect(commands(run)).toEqual([
      '  kubectl --kubeconfig .purser/kubeconfig get clusters,managedtokens -A',
      '  kubectl --kubeconfig .purser/kubeconfig explain managedtoken.spec',
      '  kubectl --kubeconfig .purser/target-1.kubeconfig create token deployer -n deploy --duration 1h',
      '  kubectl --kubeconfig .purser/kubeconfig create token deployer -n deploy --audience https://kubernetes.default.svc --server https://127.0.0.1:7444/orchestrator/target-1',
    ]);
  });

  it.each([
    ['without samples', { samples: false }, '.purser/target-1.kubeconfig create token default --duration 1h'],
    ['without targets', { targets: [] }, '.purser/kubeconfig create token default --duration 1h'],
  ])('prints a command for an existing service account %s', (_name, change, command) => {
    expect(commands({ ...run, ...change })[2]).toBe(`  kubectl --kubeconfig ${command}`);
  });

  it('prints a curl command for the façade', () => {
    expect(welcomeText(run)).toContain(String.raw`
  curl --cacert .purser/ca.crt -H "Authorization: Bearer $(kubectl --kubeconfig .purser/kubeconfig config view --raw -o 'jsonpath={.users[0].user.token}')" -H 'Content-Type: application/json' -d '{"spec":{"audiences":["https://kubernetes.default.svc"]}}' \
    https://127.0.0.1:7444/orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token
`);
  });

  it.each([
    ['/elsewhere', '/home/me/purser/.purser/kubeconfig'],
    ['/home/me', 'purser/.purser/kubeconfig'],
  ])('prints the kubeconfig path for the working directory %s', (cwd, path) => {
    expect(commands({ ...run, cwd })[0]).toContain(` --kubeconfig ${path} `);
  });

  it('quotes paths with special characters', () => {
    const hub = { ...run.hub, kubeconfig: "/home/me/purser/it's here/kubeconfig" };
    expect(commands({ ...run, hub })[0]).toContain(String.raw` --kubeconfig 'it'\''s here/kubeconfig' `);
  });
});
