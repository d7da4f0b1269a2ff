import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'puppeteer-core';
import { type LocalRun, send, startLocalRun } from '../e2e/local-run.ts';
import { newFolder } from '../support/folders.ts';
import { findBinary } from '../support/kube-binaries.ts';
import { freePorts } from '../support/ports.ts';
import { launchBrowser, Tab } from './browser.ts';

let browser: Browser;
let folder: string;
let run: LocalRun;
let port: string;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  folder = await newFolder();
  [port = ''] = (await freePorts(1)).map(String);
  run = await startLocalRun(folder, '--facade-port', port);
});
afterEach(() => run.end('SIGKILL'));

const pageUrl = () => `${run.ready.facade}/ui/`;
const admin = (line: string, body?: unknown) => send(run.ready, 'admin', line, body);
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

async function kubectl(...args: readonly string[]): Promise<readonly string[]> {
  const program = findBinary('kubectl') ?? 'kubectl';
  const { stdout } = await promisify(execFile)(program, ['--kubeconfig', run.ready.kubeconfig, ...args]);
  return stdout.trim().split('\n');
}

/** Creates a service account that may list ManagedTokens in its namespace; returns its token. */
async function createViewer(namespace: string): Promise<string> {
  const rules = [{ apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['get', 'list', 'watch'] }];
  const subjects = [{ kind: 'ServiceAccount', name: 'viewer', namespace }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' };
  await admin(`POST /api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'viewer' } });
  await admin(`POST ${RBAC}/namespaces/${namespace}/roles`, { metadata: { name: 'viewer' }, rules });
  await admin(`POST ${RBAC}/namespaces/${namespace}/rolebindings`, { metadata: { name: 'viewer' }, subjects, roleRef });
  const { body } = await admin(`POST /api/v1/namespaces/${namespace}/serviceaccounts/viewer/token`, { spec: {} });
  return (JSON.parse(body) as { readonly status: { readonly token: string } }).status.token;
}

/** Waits until kubectl shows an expiry for all ManagedTokens; returns the namespace, name, cluster and expiry of each. */
async function untilIssued(): Promise<readonly string[]> {
  const columns = 'NS:.metadata.namespace,NAME:.metadata.name,CLUSTER:.spec.clusterName,EXPIRY:.status.expirationTimestamp';
  for (;;) {
    const lines = await kubectl('get', 'managedtokens', '-A', '--no-headers', '-o', `custom-columns=${columns}`);
    if (lines.every((line) => !line.includes('<none>'))) return lines.map((line) => line.split(/\s+/).join(' ')).toSorted();
  }
}

/** Returns the namespace, name, cluster and expiry in each row of the page. */
async function readTokens(tab: Tab): Promise<readonly string[]> {
  const rows = await tab.page.$$eval('.token-grid .space .row', (elements) =>
    elements.map((row) => {
      const text = (selector: string) => row.querySelector<HTMLElement>(selector)?.innerText ?? '';
      const expiry = row.querySelector('.expires time')?.getAttribute('datetime')?.replace('.000Z', 'Z') ?? '';
      return [text('.names:not(.target) small'), text('.names:not(.target) b'), text('.target > span'), expiry].join(' ');
    }),
  );
  return rows.toSorted();
}

describe('web UI of the façade', () => {
  it('shows the same objects as kubectl', async () => {
    const expected = await untilIssued();
    await using tab = await Tab.open(browser);
    await tab.logIn(`${pageUrl()}#/tokens`, run.ready.tokens['admin']);
    await tab.untilLive();
    await tab.untilText('.foot', `${expected.length} tokens`);
    expect(await readTokens(tab)).toEqual(expected);
    await tab.page.keyboard.press('3');
    const clusters = await kubectl('get', 'clusters', '--no-headers', '-o', 'custom-columns=NAME:.metadata.name,VERSION:.status.version');
    await tab.untilText('.cluster-grid .version', clusters[0]?.split(/\s+/)[1] ?? 'no version');
    expect(await tab.texts('.cluster-grid .space .names b')).toEqual(clusters.map((line) => line.split(/\s+/)[0]));
    expect(tab.problems).toEqual([]);
  });

  it('shows a ManagedToken that is created while the page is open, and reports its deletion', async () => {
    await using tab = await Tab.open(browser);
    await tab.logIn(`${pageUrl()}#/tokens?q=added-later`, run.ready.tokens['admin']);
    await tab.untilText('.empty', 'No token matches');
    const token = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name: 'added-later' },
      spec: { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'missing' }, requesterServiceAccountName: 'missing' },
    };
    await admin('POST /apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens', token);
    await tab.untilText('.space .row .badge', 'Failing');
    await tab.page.click('.space .row');
    await tab.untilText('.chain .failed', 'does not exist');
    await admin('DELETE /apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens/added-later');
    await tab.untilText('.panel', 'does not exist, or you are not authorized to see it');
    expect(tab.problems).toEqual([]);
  });

  it('shows only the objects that the caller may see, and none after the permission is withdrawn', async () => {
    const token = await createViewer('team-a');
    const expected = (await untilIssued()).filter((line) => line.startsWith('team-a '));
    expect(expected.length).toBeGreaterThan(0);
    await using tab = await Tab.open(browser);
    await tab.logIn(`${pageUrl()}#/tokens`, token);
    await tab.untilText('.foot', expected.length === 1 ? '1 token' : `${expected.length} tokens`);
    expect(await readTokens(tab)).toEqual(expected);
    await admin(`DELETE ${RBAC}/namespaces/team-a/rolebindings/viewer`);
    await tab.page.waitForFunction(() => document.querySelectorAll('.space .row').length === 0);
    expect(await tab.page.content()).not.toContain('ci-deployer');
    expect(tab.problems).toEqual([]);
  });

  it('returns to the login when the token is no longer valid', async () => {
    const token = await createViewer('team-a');
    await using tab = await Tab.open(browser);
    await tab.logIn(`${pageUrl()}#/tokens`, token);
    await tab.untilText('.foot', 'tokens');
    await admin('DELETE /api/v1/namespaces/team-a/serviceaccounts/viewer');
    await tab.untilText(
      '.login',
      'The façade does not accept the token: the token is invalid, has expired, or has none of the accepted audiences.',
    );
    expect(tab.problems).toEqual([]);
  });

  it('resumes after a restart of the server', async () => {
    const expected = await untilIssued();
    await using tab = await Tab.open(browser);
    await tab.logIn(`${pageUrl()}#/tokens`, run.ready.tokens['admin']);
    await tab.untilText('.foot', `${expected.length} tokens`);
    await run.end('SIGTERM');
    await tab.page.waitForSelector('.connection.retrying');
    expect(await tab.texts('.problem')).toEqual([expect.stringContaining('The server of this page does not respond.')]);
    run = await startLocalRun(folder, '--facade-port', port);
    await tab.untilLive();
    expect(await readTokens(tab)).toEqual(await untilIssued());
    expect(tab.problems).toEqual([]);
  });

  it('redirects to the page, serves the page with a content security policy, and returns no data without a token', async () => {
    await using tab = await Tab.open(browser);
    const response = await tab.page.goto(pageUrl().replace(/\/$/, ''));
    expect(tab.page.url()).toBe(pageUrl());
    expect(response?.headers()).toMatchObject({ 'content-security-policy': expect.stringContaining("default-src 'none'") as unknown });
    expect((await fetchStatus(tab, 'nothing.js')).status).toBe(404);
    expect((await fetchStatus(tab, '../auth/v1/clusters')).status).toBe(401);
  });
});

/** Starts `purser ui` with the kubeconfig of a local run; returns its address. */
async function startPurserUi(closing: AsyncDisposableStack): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/purser.cjs'), 'ui', '--no-open'], {
    env: { ...process.env, KUBECONFIG: run.ready.kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closing.defer(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await exited;
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return line.toString().trim();
}

describe('purser ui', () => {
  it('shows tokens, and the latency of clusters from the hub, without a login', async () => {
    const expected = await untilIssued();
    await using closing = new AsyncDisposableStack();
    const url = await startPurserUi(closing);
    await using tab = await Tab.open(browser);
    await tab.page.goto(`${url}#/tokens`);
    await tab.untilText('.foot', `${expected.length} tokens`);
    expect(await readTokens(tab)).toEqual(expected);
    await tab.page.keyboard.press('3');
    await tab.untilText('.cluster-grid .head', 'Latency');
    await tab.untilText('.cluster-grid .latency', 'ms');
    expect(await tab.accessibilityProblems()).toEqual([]);
    expect(tab.problems).toEqual([]);
  });

  it('sends no data to a page of another origin', async () => {
    await using closing = new AsyncDisposableStack();
    const url = await startPurserUi(closing);
    await using tab = await Tab.open(browser);
    await tab.page.goto(pageUrl());
    const lists = url.replace(/ui\/$/, 'auth/v1/clusters');
    // The policy of the façade's page forbids other origins; a page without a policy is stopped by the server.
    await tab.page.goto('about:blank');
    const result = await tab.page.evaluate(
      async (address) =>
        await fetch(address).then(
          ({ status }) => status,
          () => 'failed',
        ),
      lists,
    );
    expect(result).toBe('failed');
  });
});

async function fetchStatus(tab: Tab, path: string): Promise<{ readonly status: number }> {
  return await tab.page.evaluate(async (url) => ({ status: (await fetch(url)).status }), path);
}
