// Grammar of the hostile writer of ManagedTokens: all actions that the editor role and permission on Secrets and service accounts allow.

import { AnchorFinalizer, Annotation, Label, LabelValue } from '../../../src/api/names.ts';
import { base64, paths } from '../api.ts';
import { type Action, type Draw, type Grammar, MERGE, type Production } from './grammar.ts';
import { ACCOUNT_NAMESPACES, ACCOUNTS, ALL_CLUSTERS, AUDIENCES, BUILDER, DEPLOYER, HOSTILE_NAMESPACES, SLOW_CLUSTER } from './names.ts';

/** Number of ManagedToken names. */
const POOL = 9;
/** Number of names for large ManagedTokens. */
const HUGE = 8;
/** Number of ManagedTokens in a burst. */
const BURST = 26;
const MAX_ANCHORS = 400;
const BURST_ANCHORS = 40;
/** Number of ManagedTokens that claim one Secret, and number that one action creates. */
const CLAIMS = 400;
const CLAIMS_AT_ONCE = 40;
/** Number of ManagedTokens for the slow cluster in each namespace: more than a cluster has slots. */
const SLOW_TOKENS = 20;
const SLOW_NAMESPACES = 16;
const FOREIGN_FINALIZER = 'attack.example.com/hold';
const JSON_PATCH = 'application/json-patch+json';

function drawName(draw: Draw): string {
  return `mt-${draw.between(1, POOL)}`;
}

function drawSpec(draw: Draw): object {
  const bound = draw.chance(0.1) && { boundObjectRef: { kind: draw.pick(['Pod', 'Secret']), name: draw.pick(ACCOUNTS) } };
  // Sometimes the permitted service account, so that the tenant has tokens to misuse.
  const isAllowed = draw.chance(0.3);
  return {
    clusterName: isAllowed ? 'one' : draw.pick(ALL_CLUSTERS),
    serviceAccount: isAllowed
      ? { namespace: 'deploy', name: DEPLOYER }
      : { namespace: draw.pick(ACCOUNT_NAMESPACES), name: draw.pick(ACCOUNTS) },
    audiences: draw.chance(0.1)
      ? Array.from({ length: 16 }, (_, n) => `https://${'a'.repeat(200)}${n}.test`)
      : [...new Set([draw.pick(AUDIENCES), draw.pick(AUDIENCES)])],
    expirationSeconds: draw.pick([600, 601, 3_600, 3_607, 86_400, 2 ** 31, 2 ** 32]),
    requesterServiceAccountName: isAllowed ? BUILDER : draw.pick([BUILDER, 'default', 'missing', 'purser', 'caller']),
    rotation: { renewBefore: draw.pick(['1%', '90%', '1s', '99999999h', '20%']), suspend: draw.chance(0.2) },
    secret: drawSecretSpec(draw),
    ...(bound || { revocation: draw.pick(['None', 'BoundSecret']) }),
  };
}

function drawSecretSpec(draw: Draw): object {
  const server = draw.chance(0.2) && { server: draw.pick(['https://127.0.0.1:1', 'one', 'https://169.254.169.254', 'https://[::1]:6443']) };
  const name = draw.chance(0.3) && { name: draw.pick([drawName(draw), 'one-credential', 'two-prod-credential', 'polite-1', 'victim-1']) };
  const annotations = draw.chance(0.1) && { annotations: drawNotes(draw, 32, 4_000) };
  return {
    outputs: draw.pick([['Token'], ['Kubeconfig'], ['ArgoCD'], ['Token', 'Kubeconfig', 'ArgoCD']]),
    ...server,
    ...name,
    ...annotations,
  };
}

function drawNotes(draw: Draw, count: number, length: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: draw.between(1, count) }, (_, n) => [`attack.example.com/note-${n}`, 'x'.repeat(length)]));
}

/** Returns a forged annotation with a list of anchors. */
function drawAnchors(draw: Draw, most = MAX_ANCHORS): string {
  const count = draw.pick([1, 5, 17, most]);
  return Array.from({ length: count }, (_, n) => `${draw.pick(['one', 'two', 'two-prod', 'missing'])}/ns-${n}`).join(' ');
}

/** Returns forged annotations that only Purser writes. */
function drawRecord(draw: Draw): Readonly<Record<string, string>> {
  const forged: Readonly<Record<string, string>> = {
    [Annotation.expiresAt]: draw.pick(['2020-01-01T00:00:00Z', '2200-01-01T00:00:00Z', 'never']),
    [Annotation.renewAt]: draw.pick(['2020-01-01T00:00:00Z', '2200-01-01T00:00:00Z', '']),
    [Annotation.issuedAt]: '2200-01-01T00:00:00Z',
    [Annotation.rotations]: draw.pick(['-1', '9007199254740993', 'x']),
    [Annotation.credentialId]: 'JTI=forged',
    [Annotation.tokenDigest]: `sha256:${'0'.repeat(64)}`,
    [Annotation.rotateRequest]: 'forged',
    [Annotation.revokeRequest]: 'forged',
    [Annotation.issuedFor]: JSON.stringify({
      cluster: draw.pick(ALL_CLUSTERS),
      clusterUid: 'forged',
      subject: `system:serviceaccount:${draw.pick(ACCOUNT_NAMESPACES)}:${draw.pick(ACCOUNTS)}`,
      audiences: ['vault'],
      boundTo: `Secret/purser-forged/${draw.between(1, 9)}`,
    }),
  };
  return Object.fromEntries(Object.entries(forged).filter(() => draw.chance(0.6)));
}

function drawFinalizers(draw: Draw): readonly string[] {
  return draw.pick([[], [AnchorFinalizer], [FOREIGN_FINALIZER], [AnchorFinalizer, FOREIGN_FINALIZER]]);
}

function buildToken(namespace: string, name: string, metadata: object, spec: object): object {
  return { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata: { namespace, name, ...metadata }, spec };
}

function createAction(label: string, namespace: string, object: object): Action {
  return { label, method: 'POST', path: paths.tokens(namespace), body: object };
}

const create: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const annotations = {
    ...(draw.chance(0.3) && { [anchorsAnnotation]: drawAnchors(draw) }),
    ...(draw.chance(0.3) && drawRecord(draw)),
    ...(draw.chance(0.2) && { [Annotation.rotate]: String(draw.between(1, 9)) }),
  };
  return [
    createAction(
      `create ${name}`,
      namespace,
      buildToken(namespace, name, { finalizers: drawFinalizers(draw), annotations }, drawSpec(draw)),
    ),
  ];
};

/** Annotation under Purser's prefix that Purser ignores. */
const anchorsAnnotation = 'tokens.purser.dev/anchors';

/** Creates many objects within a second, to reach limits on their number. */
const burst: Production = (draw) => {
  const [namespace, spec, generation] = [draw.pick(HOSTILE_NAMESPACES), drawSpec(draw), draw.between(1, 3)];
  const metadata = { finalizers: [AnchorFinalizer], annotations: { [anchorsAnnotation]: drawAnchors(draw, BURST_ANCHORS) } };
  return Array.from({ length: BURST }, (_, n) => {
    const name = `burst-${generation}-${n}`;
    return createAction(`burst ${name}`, namespace, buildToken(namespace, name, metadata, { ...spec, secret: {} }));
  });
};

/** Names one Secret in very many ManagedTokens, and changes some of them. */
const claimSecret: Production = (draw) => {
  const namespace = draw.pick(HOSTILE_NAMESPACES);
  const spec = { ...drawSpec(draw), secret: { name: 'claimed' } };
  const first = draw.between(0, CLAIMS - CLAIMS_AT_ONCE);
  const creations = Array.from({ length: CLAIMS_AT_ONCE }, (_, n) => {
    const name = `claim-${first + n}`;
    return createAction(`claim ${name}`, namespace, buildToken(namespace, name, {}, spec));
  });
  const patches = Array.from({ length: 8 }, () => {
    const name = `claim-${draw.between(0, CLAIMS - 1)}`;
    return patchAction(`patch ${name}`, paths.tokens(namespace, name), { spec: { expirationSeconds: draw.between(600, 3_600) } });
  });
  return [...creations, ...patches];
};

/** Moves anchors on the slow cluster in both namespaces at once: each new location leaves an anchor of a former spec. */
const moveAnchors: Production = (draw) => {
  const serviceAccount = { namespace: `ns-${draw.between(1, SLOW_NAMESPACES)}`, name: DEPLOYER };
  const spec = {
    clusterName: draw.chance(0.8) ? SLOW_CLUSTER : 'one',
    serviceAccount,
    audiences: ['vault'],
    requesterServiceAccountName: SLOW_CLUSTER,
    revocation: draw.pick(['BoundSecret', 'None']),
    rotation: { suspend: draw.chance(0.2) },
  };
  return HOSTILE_NAMESPACES.flatMap((namespace) =>
    Array.from({ length: SLOW_TOKENS }, (_, n) => {
      const name = `slow-${n}`;
      const isNew = draw.chance(0.5);
      return isNew
        ? createAction(`create ${name}`, namespace, buildToken(namespace, name, {}, { ...spec, revocation: 'BoundSecret' }))
        : patchAction(`move ${name}`, paths.tokens(namespace, name), { spec });
    }),
  );
};

/** Creates objects near the size limit of the API server. */
const huge: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), `huge-${draw.between(1, HUGE)}`];
  const labels = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`label-${n}`, 'v'.repeat(63)]));
  const annotations = { 'attack.example.com/big': 'x'.repeat(draw.pick([200_000, 260_000])) };
  return [createAction(`huge ${name}`, namespace, buildToken(namespace, name, { labels, annotations }, drawSpec(draw)))];
};

function patchAction(label: string, path: string, body: object): Action {
  return { label, method: 'PATCH', path, body, type: MERGE };
}

const patchSpec: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const spec = drawSpec(draw) as Readonly<Record<string, unknown>>;
  const field = draw.pick(Object.keys(spec));
  return [patchAction(`patch ${field} of ${name}`, paths.tokens(namespace, name), { spec: { [field]: spec[field] } })];
};

const annotate: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const value = String(draw.between(1, 1_000_000));
  const annotations = draw.pick([
    { [Annotation.rotate]: value },
    { [Annotation.revoke]: value },
    { [Annotation.rotate]: value, [Annotation.revoke]: value },
    { [Annotation.rotate]: 'x'.repeat(50_000) },
    { [anchorsAnnotation]: drawAnchors(draw) },
    drawRecord(draw),
  ]);
  return [patchAction(`annotate ${name}`, paths.tokens(namespace, name), { metadata: { annotations } })];
};

const rapidRotation: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const annotation = draw.pick([Annotation.rotate, Annotation.revoke]);
  return Array.from({ length: 8 }, (_, n) =>
    patchAction(`rotate ${name}`, paths.tokens(namespace, name), {
      metadata: { annotations: { [annotation]: `${draw.between(1, 9_999)}-${n}` } },
    }),
  );
};

const setFinalizers: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  return [patchAction(`finalizers of ${name}`, paths.tokens(namespace, name), { metadata: { finalizers: drawFinalizers(draw) } })];
};

const forgeStatus: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const anchors = Array.from({ length: 16 }, (_, n) => ({
    cluster: draw.pick(ALL_CLUSTERS),
    namespace: `ns-${n}`,
    serviceAccount: 'deployer',
    clusterUID: '',
    credential: '',
  }));
  const status = { secretName: 'forged', rotations: 7, expirationTimestamp: '2200-01-01T00:00:00Z', anchors };
  return [patchAction(`status of ${name}`, `${paths.tokens(namespace, name)}/status`, { status })];
};

const remove: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const propagationPolicy = draw.pick(['Foreground', 'Background', 'Orphan']);
  return [{ label: `delete ${name}`, method: 'DELETE', path: paths.tokens(namespace, name), body: { propagationPolicy } }];
};

/** Deletes an object that a finalizer of the tenant keeps. */
const removeHeld: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const path = paths.tokens(namespace, name);
  return [
    patchAction(`hold ${name}`, path, { metadata: { finalizers: [FOREIGN_FINALIZER] } }),
    { label: `delete held ${name}`, method: 'DELETE', path, body: {} },
  ];
};

const createSecret: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const owner = {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    name,
    uid: `00000000-0000-4000-8000-00000000000${draw.between(0, 9)}`,
  };
  const metadata = {
    namespace,
    name,
    labels: { [Label.managedBy]: draw.pick([LabelValue.managedBy, 'other']), 'argocd.argoproj.io/secret-type': 'cluster' },
    annotations: drawRecord(draw),
    ...(draw.chance(0.5) && { ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] }),
  };
  const data = { token: base64(`forged-${draw.between(1, 9)}`), server: base64('https://127.0.0.1:1') };
  return [
    { label: `Secret ${name}`, method: 'POST', path: paths.secrets(namespace), body: { metadata, data, immutable: draw.chance(0.2) } },
  ];
};

const editSecret: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const edits: readonly object[] = [
    { data: { token: base64('garbage') } },
    { data: null },
    { data: { big: base64('x'.repeat(500_000)) } },
    { metadata: { annotations: drawRecord(draw) } },
    { metadata: { labels: { [Label.managedBy]: null } } },
    { metadata: { ownerReferences: null } },
    { metadata: { finalizers: [FOREIGN_FINALIZER] } },
    { immutable: true },
  ];
  return [patchAction(`edit Secret ${name}`, paths.secrets(namespace, name), draw.pick(edits))];
};

const removeSecret: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  return [{ label: `delete Secret ${name}`, method: 'DELETE', path: paths.secrets(namespace, name), body: {} }];
};

/** Copies a field repeatedly with a JSON patch. */
const copyPatch: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), drawName(draw)];
  const body = Array.from({ length: 6 }, (_, n) => ({ op: 'copy', from: '/spec/secret', path: `/spec/secret/copy${n}` }));
  return [{ label: `copy ${name}`, method: 'PATCH', path: paths.tokens(namespace, name), body, type: JSON_PATCH }];
};

const requester: Production = (draw) => {
  const [namespace, name] = [draw.pick(HOSTILE_NAMESPACES), draw.pick([BUILDER, 'default', 'other'])];
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } };
  const createAccount: Action = { label: `service account ${name}`, method: 'POST', path: paths.serviceAccounts(namespace), body: account };
  const deleteAccount: Action = {
    label: `delete service account ${name}`,
    method: 'DELETE',
    path: paths.serviceAccounts(namespace, name),
    body: {},
  };
  return draw.pick([[createAccount], [deleteAccount, createAccount], [deleteAccount, createAccount], [createAccount]]);
};

/** Reads and writes in namespaces where the tenant has no permission. */
const trespass: Production = (draw) => {
  const namespace = draw.pick(['purser-system', 'polite-a', 'hostile-victims', 'kube-system']);
  const spec = drawSpec(draw);
  return [
    { label: `read ${namespace}`, method: 'GET', path: paths.secrets(namespace) },
    createAction(`create in ${namespace}`, namespace, buildToken(namespace, drawName(draw), {}, spec)),
  ];
};

export const TOKEN_WRITER: Grammar = [
  [8, create],
  [1, burst],
  [0.5, huge],
  [0.5, claimSecret],
  [1, moveAnchors],
  [4, patchSpec],
  [4, annotate],
  [1, rapidRotation],
  [2, setFinalizers],
  [1, forgeStatus],
  [2, remove],
  [1, removeHeld],
  [2, createSecret],
  [3, editSecret],
  [2, removeSecret],
  [0.5, copyPatch],
  [1, requester],
  [0.5, trespass],
];
