// Checks that files, links, options and scripts in the documentation exist. test/real/docs-*.test.ts runs the commands.

import { existsSync, globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { renderTargetAccess } from '../../src/cli/manifests.ts';
import { optionOf, toVariableName } from '../../src/config/options.ts';
import { FacadeVariable } from '../../src/config/variables.ts';
import { readText } from '../support/repository.ts';
import { run } from '../support/run.ts';
import { cliOptions, commandProblem } from './command-lines.ts';
import { anchorsOf, blocksOf, commandLines, documents, proseCommands, proseOf, stepsOf } from './documents.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const all = documents();
const blocks = all.flatMap(blocksOf);
const commands = blocks.filter(({ language }) => language === 'sh' || language === 'console');
const linesOf = (isRun: boolean) =>
  commands
    .filter(({ place }) => (place !== '') === isRun)
    .flatMap(stepsOf)
    .flatMap(commandLines);
const [ran, unrun] = [linesOf(true), linesOf(false)];
const prose = all.flatMap(proseCommands);
const purserLines = [...prose, ...unrun].filter((line) => line.startsWith('purser '));
/** Commands of purser that need no cluster. */
const PRINTING = /^purser (print|help|version|completion|.*--help)/;
/** Environment without the options of the test run. */
const PLAIN = { NODE_OPTIONS: '' };
const { scripts } = JSON.parse(readText('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

/** Commands in fenced blocks that no test runs, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'kubectl --context hub annotate -n purser-system configmap/purser-removal-limit registry.purser.dev/release="$(date +%s)" --overwrite':
    'needs many withdrawn tokens; test/tokens/removal-limits.test.ts sets the same annotation',
  'purser cluster add target-1 --context target --hub-context hub': 'README.md has the same command',
  'npm ci': 'a precondition of this test',
  'npm pack && npm install -g ./purser-0.1.0.tgz': 'test/real/package.test.ts installs the package in a folder',
  'source <(purser completion bash)': 'test/cli/complete.test.ts completes in bash',
  'npm ci && npm start': 'test/real/docs-tour.test.ts starts the same program on free ports, and compares its output',
  'skopeo copy oci-archive:purser-0.1.0-image.tar docker://registry.example.com/purser:0.1.0':
    'needs a registry; test/pods imports the archive on a node',
  'docker buildx build --platform linux/amd64,linux/arm64 -t registry.example.com/purser:0.1.0 --push .':
    'needs a registry; test/real/image.test.ts builds the image',
  'kubectl --context hub -n purser-system rollout status deployment/purser': 'needs nodes; test/real runs the command of the Deployment',
  'kubectl --context hub -n purser-system rollout undo deployment/purser': 'needs nodes',
  'kubectl --context hub -n purser-system port-forward service/purser 7444:443': 'needs nodes',
  'kubectl --context hub apply --server-side -k ../our-purser':
    'needs the Prometheus Operator; test/real/docs-operating.test.ts renders the same kustomization',
  "kubectl kustomize ../our-purser | sed 's|https://git.example.com/purser/blob/main|https://git.example.org/platform/purser/blob/v0.1.0|' | kubectl --context hub apply --server-side -f -":
    'needs the Prometheus Operator; test/deploy/monitoring.test.ts checks the replaced address',
  'kubectl --context hub create namespace purser-system': 'docs/operating.md has the same command',
  'kubectl --context hub label namespace purser-system pod-security.kubernetes.io/enforce=restricted':
    'docs/operating.md has the same command',
  'helm --kube-context hub install purser deploy/chart --namespace purser-system --set image.repository=registry.example.com/purser':
    'docs/operating.md has the same command',
  ...Object.fromEntries(
    [
      'issuer=$(kubectl --context hub get --raw /.well-known/openid-configuration | jq -r .issuer)',
      'target_issuer=$(kubectl --context target get --raw /.well-known/openid-configuration | jq -r .issuer)',
      "server=$(kubectl --context target config view --minify -o jsonpath='{.clusters[0].cluster.server}')",
      'user=hub:system:serviceaccount:purser-system:purser-federated',
      'kubectl --context hub create clusterrolebinding purser-issuer-discovery --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated',
      'purser print hub-rbac --service-account purser-federated | kubectl --context hub apply -f -',
      'purser print target-rbac --user "$user" | kubectl --context target apply -f -',
      'purser print authentication-config --issuer "$issuer" --target-issuer "$target_issuer" --ca hub-ca.crt --server "$server" > authentication.yaml',
    ].map((command) => [command, 'test/real/federation.test.ts restarts the API server with the printed configuration']),
  ),
  'KUBECONFIG=$PWD/purser.kubeconfig npm run purser -- run --facade-tls-secret purser-facade-tls':
    'test/real/deploy.test.ts runs the same program with such a kubeconfig',
  "aws eks describe-cluster --name CLUSTER --query 'cluster.[endpoint,certificateAuthority.data]' --output text": 'needs EKS',
  'aws eks associate-identity-provider-config --cluster-name CLUSTER --oidc file://purser.json': 'needs EKS',
  "gcloud container clusters describe CLUSTER --location LOCATION --format 'value(endpoint,masterAuth.clusterCaCertificate)'": 'needs GKE',
  "az aks show --resource-group GROUP --name CLUSTER --query '[fqdn,privateFqdn]' --output tsv": 'needs AKS',
  'az aks get-credentials --resource-group GROUP --name CLUSTER --file -': 'needs AKS',
  'az aks jwtauthenticator add --resource-group GROUP --cluster-name CLUSTER --name purser --config-file purser.json': 'needs AKS',
  'kind get kubeconfig --internal --name CLUSTER': 'needs kind',
  'sudo cat /etc/rancher/k3s/k3s.yaml': 'needs k3s',
  'oc whoami --show-server': 'needs OpenShift',
  "oc -n default get configmap kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}'": 'needs OpenShift',
};

/** Commands in running text that no test runs, with the reason. */
const NOT_RUN_IN_PROSE: Readonly<Record<string, string>> = {
  'docker run --rm registry.example.com/purser:0.1.0 print target-rbac': 'test/real/image.test.ts runs the image',
  'npm ci': 'a precondition of this test',
  'node -e 0': 'npm run bench -- --only cached-credential runs it',
  'npm ci && npm test': 'runs this test',
  'npm start -- --clusters 2': 'test/e2e/start.test.ts starts the same program on free ports',
  'rm -r .purser': 'every test starts with an empty folder',
  'kubectl -n team-a create token ci': 'docs/tour.md has the same command',
  'kubectl -n NAMESPACE get mt,mts': 'docs/tour.md gets ManagedTokens, and test/real/kubectl.test.ts both kinds',
  'kubectl explain managedtoken.spec': 'test/real/kubectl.test.ts runs it',
  'kind get kubeconfig --internal': 'needs kind',
  'kind load image-archive purser-0.1.0-image.tar': 'needs kind; test/pods imports the archive with ctr',
  'npm ci && npm run release': 'test/pods/main.ts writes a release',
  'npm install --no-package-lock': 'replaces the packages of this test run',
  'npm install -g ./purser-0.1.0.tgz': 'test/real/package.test.ts installs the package in a folder',
  'helm rollback': 'the text advises against it',
  'helm template': 'named as an alternative to helm install',
  'kubectl --context hub delete -f install.yaml': 'deletes the objects of deploy/base and the policies, which test/real deletes with -k',
};

/** Options of other programs in prose: docker, helm and others, and our own benches. */
const FOREIGN_OPTIONS: ReadonlySet<string> = new Set(
  [
    '--api-versions --build-arg --clusterprofile-provider-file --context --create-namespace --enable-ssl-passthrough --internal --no --rm --silent',
    '--service-account-max-token-expiration --service-account-issuer --authentication-config --kube-apiserver-arg --tls-san --from-literal --from-file',
    '--help --check --fault --minutes --only --out --runs --scale --seconds --seed --size --write-docs --write-status --no-package-lock',
  ]
    .join(' ')
    .split(' '),
);

describe('documentation', () => {
  it('has a reason for every command in a fenced block that no test runs', () => {
    expect(new Set(unrun.filter((line) => !isScript(line)))).toEqual(new Set(Object.keys(NOT_RUN)));
  });

  it('has a reason for every command in running text that no test runs', () => {
    const others = prose.filter(
      (line) => !line.startsWith('purser ') && !isScript(line) && !ran.some((command) => isPartOf(line, command)),
    );
    expect(new Set(others)).toEqual(new Set(Object.keys(NOT_RUN_IN_PROSE)));
  });

  it.each([...new Set(purserLines)])('shows a command of purser with existing subcommands and options: %s', (line) => {
    expect(commandProblem(line)).toBeUndefined();
  });

  it.each([...new Set(prose.filter((line) => PRINTING.test(line)))])('shows a command of purser that succeeds: %s', async (line) => {
    const args = [join(REPOSITORY, 'bin/purser.cjs'), ...line.split(' ').slice(1)];
    expect(await run(process.execPath, args, PLAIN)).toMatchObject({ code: 0, output: expect.stringMatching(/^\S/), stderr: '' });
  });

  it('applies deploy/base only with the image of a registry', () => {
    const applied = [...ran, ...unrun].filter((line) => / apply .*-k \S*deploy\/(base|overlays)/.test(line));
    const rendered = [...ran, ...unrun].filter((line) => line.startsWith('kubectl kustomize deploy/base'));
    const withRegistry = "| sed 's|image: purser:|image: registry.example.com/purser:|' |";

    expect(applied).toEqual([]);
    expect(rendered.filter((line) => !line.includes(withRegistry))).toEqual([]);
    expect(rendered).toHaveLength(1);
    const installed = [...ran, ...unrun].filter((line) => line.includes('install.yaml'));
    expect(new Set(installed.map((line) => line.split(' install.yaml |')[0]))).toEqual(new Set([withRegistry.slice(2, -2)]));
  });

  it('shows the sample of a ManagedTokenSet that docs/fleets.md links to', () => {
    const shown = blocks.find(({ path, language }) => path === 'docs/fleets.md' && language === 'yaml');
    const sample = readText('deploy/samples/managed-token-set.yaml');
    expect(shown?.text).toBe(sample.replace(/^(#.*\n)+/, ''));
  });

  it('shows an npm command that prints only manifests', async () => {
    const { output } = await run('npm', ['run', 'purser', '--silent', '--', 'print', 'target-rbac'], PLAIN);
    expect(output).toBe(await renderTargetAccess({}));
  });

  it('uses exactly the names of groups of tests after the languages of fenced blocks', () => {
    const places = ['', 'tour', 'install', 'outside', 'hub', 'hub-itself', 'facade', 'monitoring', 'helm', 'orphans', 'pods', 'providers'];
    expect(new Set(commands.map(({ place }) => place))).toEqual(new Set(places));
  });

  it.each(commands.filter(({ language }) => language === 'sh').map((block) => [`${block.path}:${block.line}`, block.text]))(
    'contains only commands that a shell can parse (%s)',
    async (_, text) => {
      expect(await run('bash', ['-n', '-c', text])).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it.each(all)('links only to existing files and headings ($path)', (document) => {
    const links = [...proseOf(document).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const path = file === '' ? document.path : normalize(join(dirname(document.path), file));
      if (!existsSync(join(REPOSITORY, path))) return true;
      return anchor !== undefined && !anchorsOf(readText(path)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it.each(all)('names only existing files ($path)', (document) => {
    const paths = [...pathText(document.text).matchAll(/(?<![\w./-])((?:src|test|deploy|crds|docs)\/[\w./*-]*[\w*])/g)].map(
      ([, path = '']) => path,
    );
    const missing = paths.filter((path) => globSync(path, { cwd: REPOSITORY }).length === 0);
    expect(missing).toEqual([]);
  });

  it.each(all)('names only existing options and environment variables of Purser ($path)', (document) => {
    const words = [...proseOf(document).matchAll(/`[^`]*`/g)].flatMap(([code]) => [...code.matchAll(/(?<![\w-])--[a-z][a-z0-9-]*/g)]);
    const unknown = words
      .map(([word]) => word)
      .filter((word) => optionOf(word.slice(2)) === undefined && !cliOptions().has(word) && !FOREIGN_OPTIONS.has(word));
    const variables = [...document.text.matchAll(/PURSER_[A-Z0-9_]+/g)].map(([name]) => name);
    const options = variables.map((name) => name.replace('PURSER_', '').toLowerCase().replaceAll('_', '-'));
    const ofCommands: readonly string[] = Object.values(FacadeVariable);
    const isKnown = (name: string) => optionOf(name) !== undefined || ofCommands.includes(toVariableName(name));
    const strange = options.filter((name) => !isKnown(name) || !variables.includes(toVariableName(name)));

    expect({ unknown, strange }).toEqual({ unknown: [], strange: [] });
  });

  it.each(all)('names only existing values of the chart ($path)', (document) => {
    const values = parse(readText('deploy/chart/values.yaml')) as Readonly<Record<string, unknown>>;
    const words = [...proseOf(document).matchAll(/`(\w+)\.([\w.]+)`/g)].filter(([, first = '']) => values[first] !== undefined);
    const found = (path: string) => path.split('.').reduce<unknown>((value, name) => Object(value)[name], values);
    expect(words.map(([, first, rest]) => `${first}.${rest}`).filter((path) => found(path) === undefined)).toEqual([]);
  });

  it.each(all)('names only existing npm scripts ($path)', ({ text }) => {
    const named = [...text.matchAll(/npm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, script, short = '']) => script ?? short);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it.each(all)('has the same number of cells in every row of a table ($path)', (document) => {
    const tables = proseOf(document).match(/(^\|.*\n)+/gm) ?? [];
    const crooked = tables.filter((table) => new Set(table.trimEnd().split('\n').map(cellsOf)).size !== 1);
    expect(crooked).toEqual([]);
  });

  it.each(all)('contains no path of a particular machine ($path)', ({ text }) => {
    expect(text.match(/(?<![\w.])\/(root|work|tmp|home)\//g)).toBeNull();
  });
});

describe('README.md', () => {
  const shown = blocks.find(({ path, language }) => path === 'README.md' && language === 'yaml');

  it('shows the ManagedToken of the first sample', () => {
    const samples = parseAllDocuments(readText('deploy/samples/ci-deployer.yaml')).map((document) => document.toJS() as { kind: string });
    expect(samples.find(({ kind }) => kind === 'ManagedToken')).toMatchObject(parse(shown?.text ?? '') as object);
  });

  it('shows ten lines of YAML', () => {
    expect(shown?.text.trim().split('\n')).toHaveLength(10);
  });
});

describe('CHANGELOG.md', () => {
  it('has the form of Keep a Changelog, with the unreleased changes first', () => {
    const headings = [...readText('CHANGELOG.md').matchAll(/^##+ (.*)$/gm)].map(([, heading]) => heading);
    expect(headings[0]).toBe('[Unreleased]');
    expect(
      headings
        .slice(1)
        .filter((heading) => !/^(Added|Changed|Deprecated|Removed|Fixed|Security|\[\d+\.\d+\.\d+\] - [\d-]{10})$/.test(heading ?? '')),
    ).toEqual([]);
  });
});

describe('SECURITY.md', () => {
  const text = readText('SECURITY.md');

  it('refers to private reporting in the repository, without an address of a person', () => {
    expect(text).toContain('**Report a vulnerability**');
    expect(text).not.toMatch(/\w@\w|mailto:/);
  });

  it('names the current minor version as supported', () => {
    const { version } = JSON.parse(readText('package.json')) as { readonly version: string };
    expect(text).toContain(`| latest minor version, ${version.split('.').slice(0, 2).join('.')} | yes |`);
  });
});

describe('license', () => {
  it.each(['README.md', 'CONTRIBUTING.md'])('has the same name in %s as in package.json', (path) => {
    const { license } = JSON.parse(readText('package.json')) as { readonly license: string };
    expect(readText(path)).toContain(license);
  });
});

describe('docs/contributing.md', () => {
  const steps = [...readText('docs/contributing.md').matchAll(/^\d+\. `(src\/[^`]+)`, `(?:\w+\.)?([#\w]+)`/gm)];
  it.each(steps.map(([, path = '', name = '']) => [path, name]))('names a step that %s defines: %s', (path, name) => {
    expect(readText(path)).toMatch(new RegExp(`(function\\*? |const |class |readonly |async |  |#)${name.replace('#', '')}\\b`));
  });

  it('has a row for every folder of src', () => {
    const named = new Set([...readText('docs/contributing.md').matchAll(/`(src\/[\w.-]+)`/g)].map(([, path]) => path));
    const folders = globSync('src/*/', { cwd: REPOSITORY }).map((path) => path.replace(/\/$/, ''));
    expect(folders.filter((folder) => !named.has(folder))).toEqual([]);
  });
});

/** Returns true for a script or program of this repository; another test checks that it exists. */
function isScript(line: string): boolean {
  return /^(npm (run |test\b|start$)|node (src|test|deploy|docs)\/)/.test(line);
}

/** Returns true if a command contains all words of the line in order; words in capitals match any word. */
function isPartOf(line: string, command: string): boolean {
  const words = command.split(' ');
  let at = 0;
  return line.split(' ').every((word) => {
    const found = words.findIndex((each, index) => index >= at && (each === word || /^[A-Z]+$/.test(word)));
    at = found + 1;
    return found !== -1;
  });
}

/** Returns the text without names that only look like paths: service accounts, and names with placeholders. */
function pathText(text: string): string {
  return text.replaceAll(/`test\/<[^`]*`/g, '').replaceAll(/\/\w+\/deployer|(?<= )deploy\/deployer(?![\w.])/g, '');
}

function cellsOf(row: string): number {
  return row.split(/(?<!\\)\|/).length;
}
