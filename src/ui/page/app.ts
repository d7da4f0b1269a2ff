// The page: navigation, search, the state of the connection, and one view.

import { useEffect, useRef, useState } from 'preact/hooks';
import { type Address, formatAddress, parseAddress, START, VIEWS, type View } from '../model/address.ts';
import type { Phase } from '../model/collection.ts';
import type { Problem } from '../model/problems.ts';
import { zoomBy } from '../model/timeline.ts';
import { formatCount, formatDuration } from '../model/times.ts';
import { Clusters } from './clusters.ts';
import { Details } from './details.ts';
import { html } from './html.ts';
import { Login } from './login.ts';
import { Overview } from './overview.ts';
import { focusView } from './parts.ts';
import { type Credential, Session } from './session.ts';
import { Tokens } from './tokens.ts';

const VIEW_WORDS: Readonly<Record<View, string>> = { overview: 'Overview', tokens: 'Tokens', clusters: 'Clusters' };
const COMPONENTS = { overview: Overview, tokens: Tokens, clusters: Clusters };

/** Shows the page. If `needsLogin` is true, the user logs in first; otherwise, the server adds the credential. */
export function App({ needsLogin }: { readonly needsLogin: boolean }) {
  const [, draw] = useState(0);
  const [session, setSession] = useState<Session | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const open = (credential: Credential) => {
    const opened = new Session(credential, () => draw((count) => count + 1));
    setProblem(undefined);
    setSession(opened);
    opened.start();
  };
  const close = (cause: Problem | undefined) => {
    session?.stop();
    setSession(undefined);
    setProblem(cause);
  };
  useEffect(() => {
    if (!needsLogin) open(undefined);
  }, []);
  const rejection = session?.rejection;
  useEffect(() => {
    if (rejection !== undefined) close(rejection);
  }, [rejection]);
  if (session !== undefined && rejection === undefined)
    return html`<${Page} session=${session} onLogout=${needsLogin ? () => close(undefined) : undefined} />`;
  if (needsLogin) return html`<${Login} problem=${problem} onLogin=${open} />`;
  return html`<main class="login"><div class="rejected" role="alert">${problem !== undefined && html`<p>${problem.cause}</p><p>Restart purser ui, or log in to the cluster of your kubeconfig again.</p>`}</div></main>`;
}

function Page({ session, onLogout }: { readonly session: Session; readonly onLogout: (() => void) | undefined }) {
  const [address, go] = useAddress();
  const search = useRef<HTMLInputElement>(null);
  useShortcuts(address, go, search);
  // Whole seconds, so that all rows have the same state within a second.
  const now = Math.floor(session.now / 1_000) * 1_000;
  const { view, query, opened } = address;
  return html`<div class=${opened === undefined ? 'page' : 'page with-panel'}>
    <header class="top">
      <a class="brand" href=${formatAddress(START)}><img src="static/icon.svg" alt="" width="24" height="24" />Purser</a>
      <nav aria-label="Views">${VIEWS.map((each) => html`<a key=${each} href=${formatAddress({ ...address, view: each, opened: undefined })} aria-current=${each === view ? 'page' : undefined}>${VIEW_WORDS[each]}</a>`)}</nav>
      <div class="search"><input ref=${search} type="search" aria-label="Search" placeholder="Search" title="namespace:, cluster:, account:, secret: and reason: search one field" value=${query} maxlength="512"
        spellcheck=${false} onInput=${(event: Event) => go(withQuery(address, (event.target as HTMLInputElement).value), true)} /><kbd aria-hidden="true">/</kbd></div>
      <${Connection} session=${session} now=${now} />
      ${onLogout !== undefined && html`<button type="button" class="logout" onClick=${onLogout}>Log out</button>`}
    </header>
    <main><${COMPONENTS[view]} session=${session} address=${address} now=${now} go=${go} /></main>
    ${opened !== undefined && html`<${Details} session=${session} address=${address} opened=${opened} now=${now} />`}
  </div>`;
}

/** Returns the address with a query; a query on the overview selects the view of tokens. */
function withQuery(address: Address, query: string): Address {
  return { ...address, query, view: address.view === 'overview' && query !== '' ? 'tokens' : address.view };
}

/** Shows the state of the connection. A problem is drawn over the page, so that the content of the page does not move. */
function Connection({ session, now }: { readonly session: Session; readonly now: number }) {
  const { phase } = session;
  const isPartial = phase.type === 'live' && session.hubProblem !== undefined;
  return html`<p class=${`connection ${isPartial ? 'partial' : phase.type}`} role="status"><i aria-hidden="true"></i>${isPartial ? 'Partly live' : formatPhase(phase)}</p>
    ${
      phase.type === 'retrying' &&
      html`<div class="problem" role="alert"><p>${phase.problem.cause}</p><p>${phase.problem.remedy}</p>
        <small>Next attempt in ${formatDuration(phase.retryAt - now)}</small></div>`
    }`;
}

function formatPhase(phase: Phase): string {
  if (phase.type === 'loading') return phase.loaded === 0 ? 'Loading' : `Loading ${formatCount(phase.loaded)}`;
  return phase.type === 'live' ? 'Live' : 'Not live';
}

/** Returns the current address, and a function that changes it; if `isReplaced` is true, the change creates no history entry. */
function useAddress(): readonly [Address, (address: Address, isReplaced?: boolean) => void] {
  const [address, setAddress] = useState(parseAddress(location.hash));
  useEffect(() => {
    const onChange = () => setAddress(parseAddress(location.hash));
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  const go = (next: Address, isReplaced = false) => {
    if (isReplaced) history.replaceState(null, '', formatAddress(next));
    else history.pushState(null, '', formatAddress(next));
    setAddress(next);
  };
  return [address, go];
}

/**
 * Handles keys: `/` searches, Arrow Down and Enter leave the search field, Escape closes details, clears the filter or leaves the search,
 * `+` and `-` zoom, and `1` to `3` select a view.
 */
function useShortcuts(
  address: Address,
  go: (address: Address, isReplaced?: boolean) => void,
  search: { readonly current: HTMLInputElement | null },
): void {
  // The handler reads the latest values: with those of its own render, a key that is pressed before the next frame would clear the search.
  const latest = useRef({ address, go });
  latest.current = { address, go };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { address: current, go: goTo } = latest.current;
      if (isOfBrowser(event)) return;
      if (event.key === 'Escape') {
        // Otherwise, the browser would also clear the search field.
        event.preventDefault();
        return leave(current, goTo);
      }
      if (event.target instanceof HTMLInputElement) return event.key === 'ArrowDown' || event.key === 'Enter' ? focusView() : undefined;
      const next = ACTIONS[event.key]?.(current);
      if (next !== undefined) goTo(next, true);
      else if (event.key === '/') search.current?.select();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [search]);
}

/**
 * Returns whether a key belongs to a shortcut of the browser or to an input method. Safari sends the last key of an input method after the
 * end of the composition, with the key code 229.
 */
function isOfBrowser({ ctrlKey, metaKey, altKey, isComposing, keyCode }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey || isComposing || keyCode === 229;
}

/** Closes the details if they are open; otherwise clears the filter if there is one; otherwise leaves the search. */
function leave(address: Address, go: (address: Address) => void): void {
  const { opened, query, tokenState, clusterState } = address;
  if (opened !== undefined) go({ ...address, opened: undefined });
  else if (query === '' && tokenState === undefined && clusterState === undefined) focusView();
  else go({ ...address, query: '', tokenState: undefined, clusterState: undefined });
}

const ACTIONS: Readonly<Record<string, (address: Address) => Address>> = {
  '+': (address) => ({ ...address, zoom: zoomBy(address.zoom, -1) }),
  '-': (address) => ({ ...address, zoom: zoomBy(address.zoom, 1) }),
  1: (address) => ({ ...address, view: 'overview' }),
  2: (address) => ({ ...address, view: 'tokens' }),
  3: (address) => ({ ...address, view: 'clusters' }),
};
