// Tokens and clusters for tests of the web UI.

import { type Cluster, type Condition, type Token, toCluster, toToken } from '../../../src/ui/model/objects.ts';

export const NOW = Date.parse('2026-11-17T12:00:00Z');
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;

/** Returns a valid one-hour token that was issued 20 minutes ago, with changes. */
export function aToken(change: Partial<Token> = {}): Token {
  const token = toToken({
    metadata: { namespace: 'team-a', name: 'ci' },
    spec: { clusterName: 'prod', serviceAccount: { namespace: 'deploy', name: 'deployer' }, requesterServiceAccountName: 'bot' },
  });
  if (token === undefined) throw new Error('no token');
  const valid = {
    issuedAt: NOW - 20 * MINUTE,
    renewsAt: NOW + 27 * MINUTE,
    expiresAt: NOW + 40 * MINUTE,
    ready: condition('Ready', 'True', 'Issued'),
  };
  const all = { ...token, ...valid, ...change };
  return { ...all, key: `${all.namespace}/${all.name}` };
}

export function condition(type: string, status: Condition['status'], reason: string, since = NOW - HOUR): Condition {
  return { type, status, reason, message: `${reason} happened.`, since };
}

/** Returns a cluster with these conditions; by default, a ready cluster. */
export function aCluster(key: string, conditions: readonly Condition[] = [condition('Ready', 'True', 'ClusterReady')]): Cluster {
  const cluster = toCluster({ metadata: { name: key } });
  if (cluster === undefined) throw new Error('no cluster');
  return { ...cluster, conditions };
}

/** Returns a ManagedToken as in a response, with the same string in all fields that the page shows. */
export function textEverywhere(text: string) {
  return {
    metadata: { namespace: text, name: text },
    spec: {
      clusterName: text,
      serviceAccount: { namespace: text, name: text },
      requesterServiceAccountName: text,
      audiences: [text],
      secret: { name: text, outputs: [text] },
      revocation: text,
    },
    status: {
      conditions: [{ type: 'Ready', status: 'False', reason: text, message: text, lastTransitionTime: text }],
      credentialID: text,
      secretName: text,
    },
  };
}
