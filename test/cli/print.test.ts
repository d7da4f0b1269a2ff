import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readText } from '../support/repository.ts';
import { runPurser } from '../support/run-purser.ts';

const WIDE = ['ClusterRole', 'ClusterRoleBinding'];

interface Printed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

async function printText(...args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await runPurser(['print', ...args]);
  if (code !== 0) throw new Error(stderr);
  return output;
}

async function print(...args: readonly string[]): Promise<readonly Printed[]> {
  return parseAllDocuments(await printText(...args)).map((document) => document.toJS() as Printed);
}

describe('purser print', () => {
  it.each([
    ['target-rbac', 'deploy/target/access.yaml', ['Namespace', 'ServiceAccount', ...WIDE, 'Role', 'RoleBinding', ...WIDE]],
    ['registration', 'deploy/samples/cluster.yaml', ['Cluster']],
  ])('prints %s with instructions', async (what, path, kinds) => {
    const text = await printText(what);
    const documents = parseAllDocuments(text);

    expect(text).toContain(`purser print ${what}`);
    expect(text.endsWith(readText(path))).toBe(true);
    expect(documents.map((document) => document.get('kind'))).toEqual(kinds);
  });

  it('prints no Secret that would overwrite the credential that the instructions create', async () => {
    const recipe = await printText('target-rbac');

    expect(recipe).toContain('create secret generic target-1-credential');
    for (const key of ['token', 'cluster', 'server', 'ca.crt']) expect(recipe).toMatch(new RegExp(`--from-(literal|file)=${key}=`));
    expect((await print('registration')).map(({ kind }) => kind)).not.toContain('Secret');
  });

  it('prints a Cluster in a set', async () => {
    const [without] = await print('registration');
    const [cluster] = await print('registration', '--set', 'prod');
    const { labels } = (without?.metadata ?? {}) as { readonly labels?: object };

    expect(cluster).toEqual({ ...without, metadata: { ...without?.metadata, labels: { ...labels, 'registry.purser.dev/set': 'prod' } } });
    expect((await print('registration', '--set', '1.0'))[0]).toMatchObject({ metadata: { labels: { 'registry.purser.dev/set': '1.0' } } });
    expect(await printText('registration', '--set', 'prod')).toContain('purser print registration --set prod >');
  });

  it.each([[['--namespaces', 'deploy,argocd']], [['--namespaces=deploy,argocd,deploy']]])(
    'grants the same permissions for %j, but only in the named namespaces',
    async (options) => {
      const isWide = ({ kind, metadata }: Printed) => kind === 'ClusterRoleBinding' && metadata.name === 'purser';
      const everywhere = await print('target-rbac');
      const narrow = await print('target-rbac', ...options);
      const isRenewal = ({ metadata }: Printed) => metadata.name === 'purser-renewal';
      const bindings = narrow.filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'purser');
      const wide = everywhere.find(isWide);

      expect(narrow.filter((each) => !bindings.includes(each) && !isRenewal(each))).toEqual(everywhere.filter((each) => !isWide(each)));
      expect(bindings).toEqual(
        ['deploy', 'argocd'].map((namespace) => ({ ...wide, kind: 'RoleBinding', metadata: { name: 'purser', namespace } })),
      );
      expect(await printText('target-rbac', ...options)).toContain('purser print target-rbac --namespaces deploy,argocd |');
    },
  );

  it("grants the renewal of Purser's credential in Purser's own namespace with --namespaces", async () => {
    const renewal = (await print('target-rbac', '--namespaces', 'deploy')).filter(({ metadata }) => metadata.name === 'purser-renewal');
    expect(renewal).toMatchObject([
      {
        kind: 'Role',
        metadata: { namespace: 'purser-system' },
        rules: [{ resources: ['serviceaccounts/token'], resourceNames: ['purser'], verbs: ['create'] }, { resources: ['secrets'] }],
      },
      { kind: 'RoleBinding', metadata: { namespace: 'purser-system' } },
    ]);
  });

  it('rejects invalid namespaces', async () => {
    await expect(printText('target-rbac', '--namespaces', 'A b')).rejects.toThrow(
      '--namespaces must be a comma-separated list of namespaces, not "A b"',
    );
  });

  it.each([
    [['secrets'], "unknown command 'secrets'"],
    [['constructor'], "unknown command 'constructor'"],
    [['target-rbac', 'more'], 'too many arguments'],
    [
      ['registration', '--set', 'a:b'],
      '--set must be a name of at most 63 letters, digits, dots, hyphens and underscores that starts and ends with a letter or digit, not "a:b"',
    ],
    [['registration', '--namespaces=a'], "unknown option '--namespaces'"],
    [['target-rbac', '--names=a'], "unknown option '--names'"],
  ])('rejects %j', async (args, text) => {
    await expect(printText(...args)).rejects.toThrow(text);
  });

  it('grants permissions on the target to a federated user only, with and without --namespaces', async () => {
    const user = 'hub:system:serviceaccount:purser-system:purser-federated';
    for (const options of [[], ['--namespaces', 'deploy']]) {
      const objects = (await print('target-rbac', '--user', user, ...options)) as readonly (Printed & { subjects?: object })[];
      const subject = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user };
      expect(objects.map(({ kind }) => kind)).toEqual([
        'ClusterRole',
        options.length === 0 ? 'ClusterRoleBinding' : 'RoleBinding',
        ...WIDE,
      ]);
      expect(objects.flatMap(({ subjects }) => subjects ?? [])).toEqual([subject, subject]);
    }
    const recipe = await printText('target-rbac', '--user', user);
    for (const key of ['serviceAccount', 'cluster', 'server', 'ca.crt'])
      expect(recipe).toMatch(new RegExp(`--from-(literal|file)=${key}=`));
    expect(recipe).not.toMatch(/create token|--from-literal=token/);
  });

  it('prints a user name with characters that are special in text replacements', async () => {
    const objects = (await print('target-rbac', '--user', '$&$1')) as readonly (Printed & { subjects?: { name: string }[] })[];
    expect(objects.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name))).toEqual(['$&$1', '$&$1']);
  });

  it.each(["it's", 'a b', 'a"'])('rejects the user name %j', async (user) => {
    await expect(printText('target-rbac', '--user', user)).rejects.toThrow('--user must be a user name without quotes');
  });

  it('allows all components of Purser to request tokens on the hub, only for the named service accounts', async () => {
    const rules = [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['a', 'b'], verbs: ['create'] }];
    const accounts = ['a', 'b'].map((name) => ({ kind: 'ServiceAccount', metadata: { name, namespace: 'tokens' } }));
    const subjectsOf = (...names: readonly string[]) => names.map((name) => ({ kind: 'ServiceAccount', namespace: 'tokens', name }));
    const options = ['--service-account', 'a', '--service-account', 'b', '--namespace', 'tokens'];
    expect(await print('hub-rbac', ...options)).toMatchObject([...accounts, { rules }, { subjects: subjectsOf('purser') }]);
    expect(await print('hub-rbac', ...options, '--apart')).toMatchObject([
      ...accounts,
      { rules },
      { subjects: subjectsOf('purser-controller', 'purser-facade') },
    ]);
    const text = await printText('hub-rbac', '--service-account', 'purser-federated');
    expect(text.endsWith(readText('deploy/components/federation/access.yaml'))).toBe(true);
  });

  it.each([
    [['hub-rbac'], "required option '--service-account NAME' not specified"],
    [['hub-rbac', '--service-account', 'A b'], '--service-account must be a name: at most 253 lowercase letters'],
    [
      ['hub-rbac', '--service-account', 'purser'],
      '--service-account must be a service account other than purser, purser-controller, purser-facade',
    ],
    [['target-rbac', '--user', 'a', '--user', 'b'], '--user is set twice. Set the option once'],
    [['target-rbac', '--user', ''], '--user needs a value: --user USER'],
  ])('rejects the arguments %j', async (args, text) => {
    await expect(printText(...args)).rejects.toThrow(text);
  });
});
