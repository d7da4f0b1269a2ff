// The view of clusters with their conditions.

import { useMemo } from 'preact/hooks';
import { formatAddress } from '../model/address.ts';
import { selectClusters } from '../model/filters.ts';
import { type Cluster, findCondition, type Token } from '../model/objects.ts';
import type { Problem } from '../model/problems.ts';
import { CLUSTER_STATES, CLUSTER_WORDS, clusterStateOf, countBy, findProblemCondition, tokenStateOf } from '../model/states.ts';
import { formatCount, formatQuantity } from '../model/times.ts';
import { Grid } from './grid.ts';
import { html } from './html.ts';
import { Choices, RelativeTime } from './parts.ts';
import { renderClusterBadge, renderConditionChip } from './symbols.ts';
import type { ViewProps } from './tokens.ts';

/** Conditions in the list, and their labels. */
const CONDITIONS = [
  ['Reachable', 'Reachable'],
  ['Authorized', 'Authorized'],
  ['CredentialFresh', 'Credential'],
] as const;

/** Number of tokens of one cluster, and number of those that need attention. */
interface Load {
  readonly total: number;
  readonly urgent: number;
}

export function Clusters({ session, address, now, go }: ViewProps) {
  const { query, clusterState: state, opened } = address;
  const { clusters } = session;
  const { items, revision } = session.tokens;
  const second = Math.floor(now / 1_000);
  const counts = useMemo(() => countBy(CLUSTER_STATES, [...clusters.values()].map(clusterStateOf)), [session.clusterRevision]);
  const loads = useMemo(() => countLoads(items.values(), now), [revision, second]);
  const found = useMemo(() => selectClusters(clusters.values(), query, state), [session.clusterRevision, query, state]);
  const hasHub = session.hasHubFields;
  return html`<section class="clusters" aria-label="Clusters">
    <h1 class="unseen">Clusters</h1>
    <div class="tools" style=${{ '--digits': formatCount(clusters.size).length }}>
      <${Choices} kind="states" label="State" choices=${[
        {
          label: html`All <b>${formatCount(clusters.size)}</b>`,
          href: formatAddress({ ...address, clusterState: undefined }),
          isChosen: state === undefined,
        },
        ...CLUSTER_STATES.map((each) => ({
          label: html`${CLUSTER_WORDS[each]} <b>${formatCount(counts[each])}</b>`,
          href: formatAddress({ ...address, clusterState: each }),
          isChosen: state === each,
        })),
      ]} />
    </div>
    <${Grid} kind=${hasHub ? 'cluster-grid with-hub' : 'cluster-grid'} label="Clusters" items=${found} isAnchored=${true}
      opened=${opened?.kind === 'cluster' ? opened.key : undefined}
      head=${renderHead(hasHub)} stamp=${`${now} ${revision}`}
      row=${(cluster: Cluster) => renderCells(cluster, loads.get(cluster.key), hasHub, now)}
      onOpen=${({ key }: Cluster) => go({ ...address, opened: { kind: 'cluster', key } })}
      empty=${session.isLoading ? 'Loading clusters…' : clusters.size > 0 ? 'No cluster matches the filter. Press Esc to clear it.' : 'There are no Clusters that you may list.'} />
    <p class="foot">${found.length === clusters.size ? '' : `${formatCount(found.length)} of `}${formatQuantity(clusters.size, 'cluster')}${session.hubProblem !== undefined && html`. <span class="hub-problem">Latency and credential expiry are not current. ${session.hubProblem.cause} ${hubRemedyOf(session.hubProblem)}</span>`}</p>
  </section>`;
}

function hubRemedyOf({ status, remedy }: Problem): string {
  return status === 401 ? 'Log in to the cluster of your kubeconfig again, then reload this page.' : remedy;
}

function countLoads(tokens: Iterable<Token>, now: number): ReadonlyMap<string, Load> {
  const loads = new Map<string, Load>();
  for (const token of tokens) {
    const { total, urgent } = loads.get(token.cluster) ?? { total: 0, urgent: 0 };
    const state = tokenStateOf(token, now);
    loads.set(token.cluster, {
      total: total + 1,
      urgent: urgent + (state === 'expired' || state === 'failing' || state === 'expiring' ? 1 : 0),
    });
  }
  return loads;
}

function renderHead(hasHub: boolean) {
  return html`<span role="columnheader">State</span><span role="columnheader">Cluster</span><span role="columnheader">Version</span>
    <span role="columnheader">Conditions</span>
    ${hasHub && html`<span role="columnheader" class="end">Latency</span><span role="columnheader" class="end">Credential expiry</span>`}
    <span role="columnheader" class="end">Tokens</span>`;
}

function renderCells(cluster: Cluster, load: Load | undefined, hasHub: boolean, now: number) {
  const { key, version, type, labels, latencyMs, credentialExpiresAt } = cluster;
  const about = findProblemCondition(cluster)?.message ?? labels.join('  ');
  return html`<span role="gridcell" class="state">${renderClusterBadge(clusterStateOf(cluster))}</span>
    <span role="gridcell" class="names"><b title=${key}>${key}</b><small title=${about}>${about}</small></span>
    <span role="gridcell" class="names version"><span>${version || '–'}</span><small>${type}</small></span>
    <span role="gridcell" class="chips">${CONDITIONS.map(([name, text]) => renderConditionChip(text, findCondition(cluster, name)?.status))}</span>
    ${
      hasHub &&
      html`<span role="gridcell" class="end latency">${latencyMs === undefined ? '–' : `${latencyMs} ms`}</span>
        <span role="gridcell" class="end expires"><${RelativeTime} at=${credentialExpiresAt} now=${now} otherwise="–" /></span>`
    }
    <span role="gridcell" class="end load">${formatCount(load?.total ?? 0)}${load !== undefined && load.urgent > 0 && html`<em>${formatCount(load.urgent)} urgent</em>`}</span>`;
}
