import { describe, expect, it } from '@jest/globals';
import { issueNames } from '../../src/access/issue-permission.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer' };
const [exact, inNamespace, whole] = ['prod-eu/deploy/deployer', 'prod-eu/deploy', 'prod-eu'];

describe('issueNames', () => {
  it.each([
    ['from the most to the least specific', undefined, [exact, inNamespace, whole]],
    ['the one that allowed it last time first', inNamespace, [inNamespace, exact, whole]],
    ['the one that allowed it last time once', exact, [exact, inNamespace, whole]],
    ['none that allowed something else', 'prod-us', [exact, inNamespace, whole]],
  ])('asks for %s', (_, lastAllowed, names) => {
    expect(issueNames(target, lastAllowed)).toEqual(names);
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])('does not take the right to the cluster for one to %s', (namespace) => {
    expect(issueNames({ ...target, namespace }, 'prod-eu')).toEqual([`prod-eu/${namespace}/deployer`, `prod-eu/${namespace}`]);
  });

  it('protects the namespaces that the installation names', () => {
    expect(issueNames({ ...target, namespace: 'kube-system' }, undefined, ['deploy'])).toContain('prod-eu');
    expect(issueNames(target, undefined, ['deploy'])).not.toContain('prod-eu');
  });
});
