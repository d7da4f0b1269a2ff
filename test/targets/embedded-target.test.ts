// Tokens and anchors on the embedded API server.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { ClusterRoleBindings, Namespaces, Pods, type Secret, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { Grant, TargetTokenRequest } from '../../src/targets/policy/grant.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { eventually } from '../kube/eventually.ts';
import { TEST_USERS } from '../support/users.ts';
import { Issuing } from './issuing.ts';
import { aCredential, base64, registered, settings } from './registration.ts';

const ISSUER = 'https://target.test';
const { signal } = new AbortController();

let folder: string;
let server: ApiServer;
let admin: KubeClient;
let issuer: Issuing;
let namespace: string;
let namespaces = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'purser-target-'));
  server = await startApiServer({ folder, port: 0, issuer: ISSUER, tokens: TEST_USERS, report: (error) => expect(error).toBeUndefined() });
  const cluster = { name: 'target', server: server.url, skipTLSVerify: false, caData: base64(server.ca) };
  const config = createFixedConfig(cluster, { name: 'admin', token: 'admintoken' });
  admin = new KubeClient(createTransport(config, { clock: systemClock }), 'tests');
  issuer = new Issuing(settings(systemClock));
});

afterAll(async () => {
  await issuer.close();
  await admin.transport.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  namespaces += 1;
  namespace = `deploy-${namespaces}`;
  await admin.create(Namespaces, { metadata: { name: namespace } });
  await createServiceAccount();
});

afterEach(() => admin.delete(Namespaces, { name: namespace }));

async function createServiceAccount(): Promise<string> {
  const { metadata } = await admin.create(ServiceAccounts, { metadata: { namespace, name: 'deployer' } });
  return metadata.uid ?? '';
}

/** Returns the cluster with a token of one of its users as the credential. */
function clusterAs(token: string): RegisteredCluster {
  const credential = aCredential({ token, server: server.url, 'ca.crt': server.ca }, token);
  return registered({ servers: [server.url], ca: server.ca, credential });
}

function issue(more: Partial<TargetTokenRequest> = {}, cluster = clusterAs('admintoken')): Promise<Grant> {
  return issuer.issue(cluster, { namespace, name: 'deployer', audiences: ['api'], expirationSeconds: 3600, ...more }, signal);
}

function review({ token }: Grant): Promise<boolean> {
  const subject = `system:serviceaccount:${namespace}:deployer`;
  return issuer.review(clusterAs('admintoken'), { token, subject, audiences: ['api'] }, signal);
}

describe('issueToken on the embedded API server', () => {
  it('returns a token that the cluster accepts', async () => {
    const grant = await issue();
    expect(grant.expiresAt - grant.issuedAt).toBe(3_600_000);
    expect(grant.claims).toMatchObject({ subject: `system:serviceaccount:${namespace}:deployer`, audiences: ['api'] });
    await expect(review(grant)).resolves.toBe(true);
  });

  it('renews a token for the same service account', async () => {
    const { claims } = await issue();
    const renewed = await issue({ accountUID: claims?.accountUID ?? '' });
    expect(renewed.claims?.accountUID).toBe(claims?.accountUID);
    expect(renewed.claims?.id).not.toBe(claims?.id);
  });

  it('fails for a missing service account and a missing namespace', async () => {
    const grant = await issue();
    await admin.delete(ServiceAccounts, { namespace, name: 'deployer' });
    await expect(issue()).rejects.toMatchObject({ reason: 'ServiceAccountNotFound', status: { code: 404 } });
    await expect(issue({ namespace: 'nowhere' })).rejects.toMatchObject({ reason: 'ServiceAccountNotFound' });
    await expect(review(grant)).resolves.toBe(false);
  });

  it('does not renew a token for a re-created service account', async () => {
    const grant = await issue();
    await admin.delete(ServiceAccounts, { namespace, name: 'deployer' });
    const uid = await createServiceAccount();
    await expect(issue({ accountUID: grant.claims?.accountUID ?? '' })).rejects.toMatchObject({ reason: 'ServiceAccountRecreated' });
    await expect(review(grant)).resolves.toBe(false);
    await expect(issue({ accountUID: uid })).resolves.toMatchObject({ claims: { accountUID: uid } });
  });

  it('binds a token to an object with its UID', async () => {
    const secret = { metadata: { namespace, name: 'bound' }, type: 'Opaque' };
    const boundObject = { kind: 'Secret', name: 'bound' } as const;
    await expect(issue({ boundObject })).rejects.toMatchObject({ reason: 'BoundObjectNotFound' });
    const { uid } = (await admin.create(Secrets, secret)).metadata;
    const grant = await issue({ boundObject: { ...boundObject, uid } });
    expect(grant.claims?.boundSecretUID).toBe(uid);
    await admin.delete(Secrets, { namespace, name: 'bound' });
    await admin.create(Secrets, secret);
    await expect(review(grant)).resolves.toBe(false);
    await expect(issue({ boundObject: { ...boundObject, uid } })).rejects.toMatchObject({ reason: 'BoundObjectNotFound' });
    await expect(issue({ boundObject })).resolves.toBeDefined();
  });

  it('never returns a one-year token when 3607 seconds are requested', async () => {
    const spec = { serviceAccountName: 'deployer', containers: [{ name: 'c', image: 'i' }] };
    await admin.create(Pods, { metadata: { namespace, name: 'pod' }, spec });
    const grant = await issue({ audiences: [ISSUER], expirationSeconds: 3607, boundObject: { kind: 'Pod', name: 'pod' } });
    expect((grant.claims?.expiresAt ?? 0) - (grant.claims?.issuedAt ?? 0)).toBe(3_606_000);
  });

  it('fails if the credential has no permission', async () => {
    await expect(issue({}, clusterAs('bobtoken'))).rejects.toMatchObject({ reason: 'TargetForbidden', status: undefined });
    await expect(issue()).resolves.toBeDefined();
  });

  it('fails if the target does not know the credential', async () => {
    await expect(issue({}, clusterAs('unknown'))).rejects.toMatchObject({ reason: 'CredentialRejected' });
  });

  it('fails for a service account in a terminating namespace', async () => {
    await admin.create(Namespaces, { metadata: { name: `${namespace}-ending` } });
    const kept = { namespace: `${namespace}-ending`, name: 'kept', finalizers: ['tests.example.com/kept'] };
    await admin.create(ServiceAccounts, { metadata: kept });
    await admin.delete(Namespaces, { name: `${namespace}-ending` });
    await expect(issue({ namespace: kept.namespace, name: 'kept' })).rejects.toMatchObject({
      reason: 'RequestRejected',
      message: expect.stringContaining('because it is being terminated'),
    });
    await admin.patch(ServiceAccounts, kept, { metadata: { finalizers: null } });
  });

  it("rejects a service account in the namespace of Purser's own service account", async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    const subjects = [{ kind: 'ServiceAccount', namespace, name: 'deployer' }];
    await admin.create(ClusterRoleBindings, { metadata: { name: namespace }, roleRef, subjects });
    await admin.create(ServiceAccounts, { metadata: { namespace, name: 'other' } });
    const { token } = await issue({ audiences: [ISSUER] });
    const ours = clusterAs(token.reveal());
    await expect(issue({}, ours)).rejects.toMatchObject({ reason: 'OwnNamespace' });
    await expect(issue({ name: 'other' }, ours)).rejects.toMatchObject({ reason: 'OwnNamespace' });
  });
});

describe('ensureAnchor and deleteAnchor on the embedded API server', () => {
  const name = 'purser-5f0c';
  const anchor = () => ({ namespace, name, account: 'deployer' });
  const ensure = () => issuer.ensureAnchor(clusterAs('admintoken'), anchor(), signal);
  const remove = () => issuer.deleteAnchor(clusterAs('admintoken'), { namespace, name }, signal);
  const found = (): Promise<Secret> => admin.get(Secrets, { namespace, name });

  it('throws RequestRejected while a finalizer keeps an anchor that is being deleted', async () => {
    await ensure();
    await admin.patch(Secrets, { namespace, name }, { metadata: { finalizers: ['example.com/wait'] } });
    await admin.delete(Secrets, { namespace, name });
    await expect(ensure()).rejects.toMatchObject({ reason: 'RequestRejected' });
    await admin.patch(Secrets, { namespace, name }, { metadata: { finalizers: null } });
  });

  it('creates the anchor once, owned by the service account and labeled', async () => {
    const uid = await ensure();
    await expect(ensure()).resolves.toBe(uid);
    const { metadata, type, data } = await found();
    const account = await admin.get(ServiceAccounts, { namespace, name: 'deployer' });
    expect({ type, data, labels: metadata.labels }).toEqual({
      type: 'Opaque',
      data: undefined,
      labels: { 'tokens.purser.dev/managed-by': 'purser' },
    });
    expect(metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'deployer', uid: account.metadata.uid }]);
  });

  it('revokes the tokens that are bound to a deleted anchor', async () => {
    const uid = await ensure();
    const grant = await issue({ boundObject: { kind: 'Secret', name, uid } });
    await expect(review(grant)).resolves.toBe(true);
    await remove();
    await expect(review(grant)).resolves.toBe(false);
    await expect(found()).rejects.toMatchObject({ code: 404 });
  });

  it('deletes an anchor that does not exist without an error', async () => {
    await remove();
    await ensure();
    await remove();
    await remove();
    await expect(found()).rejects.toMatchObject({ code: 404 });
  });

  it('reports a deleted service account with a remedy', async () => {
    await ensure();
    await admin.delete(ServiceAccounts, { namespace, name: 'deployer' });
    await expect(ensure()).rejects.toMatchObject({
      reason: 'ServiceAccountNotFound',
      message: expect.stringMatching(
        /\/deployer\. Create it on the cluster\. If spec\.serviceAccount of a ManagedToken names it, you can change spec\.serviceAccount instead$/,
      ),
    });
    let isGone = false;
    await eventually(() => {
      found().catch(() => {
        isGone = true;
      });
      expect(isGone).toBe(true);
    });
  });

  it('re-creates the anchor Secret for a re-created service account', async () => {
    const before = await ensure();
    await admin.patch(Secrets, { namespace, name }, { metadata: { finalizers: ['tests.example.com/kept'] } });
    await admin.delete(ServiceAccounts, { namespace, name: 'deployer' });
    await createServiceAccount();
    // An anchor that is being deleted is not used for new tokens.
    await expect(ensure()).rejects.toMatchObject({ reason: 'RequestRejected' });
    await admin.patch(Secrets, { namespace, name }, { metadata: { finalizers: null } });
    const after = await ensure();
    expect(after).not.toBe(before);
    await expect(issue({ boundObject: { kind: 'Secret', name, uid: after } })).resolves.toBeDefined();
  });

  it('rejects a Secret that Purser did not create as an anchor, but deletes a Secret with the name of an anchor', async () => {
    await admin.create(Secrets, { metadata: { namespace, name }, type: 'Opaque', data: { password: base64('theirs') } });
    await expect(ensure()).rejects.toMatchObject({
      reason: 'RequestRejected',
      message: expect.stringContaining('so Purser does not use it'),
    });
    await expect(found()).resolves.toMatchObject({ data: { password: base64('theirs') } });
    await remove();
    await expect(found()).rejects.toMatchObject({ status: { reason: 'NotFound' } });
  });

  it('throws TargetForbidden without permission to create or read Secrets', async () => {
    await expect(issuer.ensureAnchor(clusterAs('bobtoken'), anchor(), signal)).rejects.toMatchObject({ reason: 'TargetForbidden' });
    await expect(issuer.deleteAnchor(clusterAs('bobtoken'), { namespace, name }, signal)).rejects.toMatchObject({
      reason: 'TargetForbidden',
    });
  });
});
