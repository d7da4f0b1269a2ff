// Details of one token or cluster, next to the list.

import { type Address, formatAddress, type OpenedObject, START } from '../model/address.ts';
import { toCause } from '../model/attention.ts';
import { type Link, listCommands, toChain, VERDICT_WORDS } from '../model/chain.ts';
import type { Cluster, Token } from '../model/objects.ts';
import { clusterStateOf, tokenStateOf } from '../model/states.ts';
import { formatCount, formatDuration, formatQuantity, formatTime } from '../model/times.ts';
import { type Child, html } from './html.ts';
import { renderLane } from './lane.ts';
import { CommandLine, Facts, Panel, RelativeTime, Values } from './parts.ts';
import type { Session } from './session.ts';
import { renderClusterBadge, renderTokenBadge, renderVerdictSymbol, toneOf } from './symbols.ts';

interface DetailsProps {
  readonly session: Session;
  readonly address: Address;
  readonly opened: OpenedObject;
  readonly now: number;
}

export function Details({ session, address, opened, now }: DetailsProps) {
  const closeHref = formatAddress({ ...address, opened: undefined });
  const { kind, key } = opened;
  const label = kind === 'token' ? 'Details of the token' : 'Details of the cluster';
  return html`<${Panel} key=${`${kind}/${key}`} title=${key.slice(key.indexOf('/') + 1) || 'Not found'} label=${label} closeHref=${closeHref}>${renderContent(session, address, opened, now)}</${Panel}>`;
}

function renderContent(session: Session, address: Address, { kind, key }: OpenedObject, now: number): Child {
  if (kind === 'token') {
    const token = session.tokens.items.get(key);
    if (token !== undefined) return renderTokenDetails(token, session, address, now);
  } else {
    const cluster = session.clusters.get(key);
    if (cluster !== undefined) return renderClusterDetails(cluster, session, now);
  }
  if (session.isLoading && key !== '') return html`<p class="calm">Loading…</p>`;
  return html`<p class="calm">${kind === 'token' ? 'The ManagedToken' : 'The Cluster'} does not exist, or you are not authorized to see it.</p>`;
}

function renderTokenDetails(token: Token, session: Session, address: Address, now: number): Child {
  const { issuedAt, expiresAt, renewsAt } = token;
  const state = tokenStateOf(token, now);
  const chain = toChain(token, now);
  const isExplained = state === 'ready' || state === 'suspended' || state === 'pending' || chain.some(({ message }) => message !== '');
  const cause = isExplained ? undefined : toCause(token, state, now);
  return html`<div>
    <p class="sub">${renderTokenBadge(state)}<span>ManagedToken in namespace <b>${token.namespace}</b></span></p>
    ${cause !== undefined && html`<div class="cause ${toneOf(state)}"><p>${cause.message}</p><small><bdi>${cause.reason}</bdi>, <${RelativeTime} at=${cause.since} now=${now} otherwise="time unknown" /></small></div>`}
    <h3>Chain</h3>
    <ol class="chain">${chain.map((link) => renderChainItem(link, token, session, address))}</ol>
    <h3>Lifetime</h3>
    ${renderLifetime(token, now)}
    <${Facts} facts=${[
      ['Issued', renderWhen(issuedAt, now)],
      ['Renewal', token.isSuspended ? 'suspended' : renderWhen(renewsAt, now)],
      ['Expiry', renderWhen(expiresAt, now)],
      ['Granted for', issuedAt !== undefined && expiresAt !== undefined ? formatDuration(expiresAt - issuedAt) : ''],
      ['Rotations', token.rotations === undefined ? '' : formatCount(token.rotations)],
    ]} />
    <h3>Token</h3>
    <${Facts} facts=${[
      ['Requested by', token.requester],
      ['Audiences', renderValues(token.audiences, 'those of the API server')],
      ['Outputs', renderValues(token.outputs)],
      ['Revocation', token.revocation],
      ['Credential ID', token.credentialId],
    ]} />
    <h3>Commands</h3>
    ${listCommands(token, now).map(({ purpose, text }) => html`<div class="try" key=${text}><span>${purpose}</span><${CommandLine} text=${text} /></div>`)}
  </div>`;
}

function renderValues(values: readonly string[], otherwise = ''): Child {
  return values.length === 0 ? otherwise : html`<${Values} values=${values} />`;
}

function renderWhen(at: number | undefined, now: number): Child {
  return at === undefined ? '' : html`<span><${RelativeTime} at=${at} now=${now} /> <small>${formatTime(at)}</small></span>`;
}

/** Renders the lane of a token over its whole lifetime; empty if its time of issuance or expiry is unknown. */
function renderLifetime(token: Token, now: number): Child {
  const { issuedAt, expiresAt } = token;
  if (issuedAt === undefined || expiresAt === undefined) return '';
  const margin = Math.max(1, (expiresAt - issuedAt) * 0.04);
  const scale = { from: Math.min(issuedAt, now) - margin, to: Math.max(expiresAt, now) + margin, now };
  return html`<div class="lifetime">${renderLane(token, scale, toneOf(tokenStateOf(token, now)))}</div>`;
}

function renderChainItem({ name, verdict, reason, message }: Link, token: Token, session: Session, address: Address): Child {
  return html`<li class=${verdict} key=${name}>${renderVerdictSymbol(verdict)}
    <div><p>${renderLinkText(name, token, session, address)}<span class="verdict">${VERDICT_WORDS[verdict]}</span></p>
    ${message !== '' && html`<p class="message">${message}</p>`}${reason !== '' && html`<small>${reason}</small>`}</div></li>`;
}

function renderLinkText(name: Link['name'], token: Token, session: Session, address: Address): Child {
  if (name === 'permission') return html`<span>Permission of <b><bdi>${token.namespace}</bdi>/<bdi>${token.requester}</bdi></b></span>`;
  if (name === 'account') return html`<span>Service account <b>${token.account}</b></span>`;
  if (name === 'secret') return html`<span>Secret <b><bdi>${token.namespace}</bdi>/<bdi>${token.secret}</bdi></b></span>`;
  if (name === 'token') return html`<span>Token</span>`;
  if (!session.clusters.has(token.cluster)) return html`<span>Cluster <b>${token.cluster}</b></span>`;
  return html`<span>Cluster <a href=${formatAddress({ ...address, opened: { kind: 'cluster', key: token.cluster } })}>${token.cluster}</a></span>`;
}

function renderClusterDetails(cluster: Cluster, session: Session, now: number): Child {
  const { key, conditions, latencyMs, credentialExpiresAt } = cluster;
  const tokens = [...session.tokens.items.values()].filter((token) => token.cluster === key).length;
  return html`<div>
    <p class="sub">${renderClusterBadge(clusterStateOf(cluster))}<span>Cluster</span></p>
    <h3>Conditions</h3>
    <ol class="chain">${conditions.map(({ type, status, reason, message, since }) => {
      const verdict = status === 'True' ? 'ok' : status === 'False' ? 'failed' : 'unknown';
      return html`<li class=${verdict} key=${type}>${renderVerdictSymbol(verdict)}
        <div><p><b>${type}</b><span class="verdict">${status}</span></p><p class="message">${message}</p>
        <small><bdi>${reason}</bdi>, <${RelativeTime} at=${since} now=${now} otherwise="time unknown" /></small></div></li>`;
    })}</ol>
    ${conditions.length === 0 && html`<p class="calm">Purser has not probed the cluster yet.</p>`}
    <h3>Cluster</h3>
    <${Facts} facts=${[
      ['Version', cluster.version],
      ['Type', cluster.type],
      ['Addresses', renderValues(cluster.endpoints)],
      ['Labels', renderValues(cluster.labels)],
      ...(session.hasHubFields
        ? ([
            ['Latency', latencyMs === undefined ? '' : `${latencyMs} ms`],
            ['Credential expiry', renderWhen(credentialExpiresAt, now)],
          ] as const)
        : []),
      [
        'Tokens',
        html`<a href=${formatAddress({ ...START, view: 'tokens', query: `cluster:${key}` })}>${formatQuantity(tokens, 'token')}</a>`,
      ],
    ]} />
    <h3>Commands</h3>
    <div class="try"><span>Show conditions and events</span><${CommandLine} text=${`purser cluster show ${key}`} /></div>
  </div>`;
}
