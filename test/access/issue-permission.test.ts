import { describe, expect, it } from '@jest/globals';
import { issueNames } from '../../src/access/issue-permission.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer' };
const [exact, inNamespace, whole] = ['prod-eu/deploy/deployer', 'prod-eu/deploy', 'prod-eu'];

describe('issueNames', () => {
  it.each([
    ['names from the most to the least specific', undefined, [exact, inNamespace, whole]],
    ['the name that was allowed last time first', inNamespace, [inNamespace, exact, whole]],
    ['the name that was allowed last time once', exact, [exact, inNamespace, whole]],
    ['no allowed name of another cluster', 'prod-us', [exact, inNamespace, whole]],
  ])('returns %s', (_, lastAllowed, names) => {
    expect(issueNames(target, lastAllowed)).toEqual(names);
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])(
    'does not return the name of the cluster for the namespace %s',
    (namespace) => {
      expect(issueNames({ ...target, namespace }, 'prod-eu')).toEqual([`prod-eu/${namespace}/deployer`, `prod-eu/${namespace}`]);
    },
  );

  it('protects the configured namespaces', () => {
    expect(issueNames({ ...target, namespace: 'kube-system' }, undefined, ['deploy'])).toContain('prod-eu');
    expect(issueNames(target, undefined, ['deploy'])).not.toContain('prod-eu');
  });
});
