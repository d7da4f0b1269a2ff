// Small parts that several views share.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatRelative, formatTime } from '../model/times.ts';
import { type Child, html } from './html.ts';

/** One of several values to choose from. */
export interface Choice {
  readonly label: Child;
  readonly href: string;
  readonly isChosen: boolean;
  readonly title?: string;
}

/** Shows choices as links, which users can open in another tab. */
export function Choices({ label, choices, kind }: { readonly label: string; readonly choices: readonly Choice[]; readonly kind: string }) {
  return html`<nav class="choices ${kind}" aria-label=${label}>
    ${choices.map(({ label: text, href, isChosen, title }) => html`<a href=${href} title=${title} aria-current=${isChosen ? 'true' : undefined}>${text}</a>`)}
  </nav>`;
}

/** Shows a time relative to now, with the exact time as its title. */
export function RelativeTime({
  at,
  now,
  otherwise = '–',
}: {
  readonly at: number | undefined;
  readonly now: number;
  readonly otherwise?: string;
}) {
  if (at === undefined) return html`<span class="when none">${otherwise}</span>`;
  return html`<time class="when" datetime=${new Date(at).toISOString()} title=${formatTime(at)}>${formatRelative(at, now)}</time>`;
}

/** Shows a command with a button that copies it. */
export function CommandLine({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const onCopy = () => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return html`<div class="command"><code>${text}</code>
    <button type="button" onClick=${onCopy} onBlur=${() => setCopied(false)} aria-label=${`Copy: ${text}`}>${isCopied ? 'Copied' : 'Copy'}</button>
  </div>`;
}

/**
 * Shows details of one object, next to the list. Takes the focus when it opens, and returns it when it closes. Give each object its own
 * `key`, so that the panel takes the focus again for another object.
 */
export function Panel({
  title,
  label,
  closeHref,
  children,
}: {
  readonly title: string;
  readonly label: string;
  readonly closeHref: string;
  readonly children?: unknown;
}) {
  const heading = useRef<HTMLElement>(null);
  // A layout effect, because the cleanup of other effects waits for the next frame: a key that is pressed before that frame would be lost.
  useLayoutEffect(() => {
    const [before, panel] = [document.activeElement, heading.current?.closest('.panel')];
    heading.current?.focus({ preventScroll: true });
    return () => {
      const { activeElement: current, body } = document;
      // The user may have moved the focus out of the panel.
      if (current !== null && current !== body && !panel?.contains(current)) return;
      if (before instanceof HTMLElement && before !== body && before.isConnected) before.focus({ preventScroll: true });
      else focusView();
    };
  }, []);
  return html`<aside class="panel" aria-label=${label}>
    <header><h2 ref=${heading} tabindex="-1">${title}</h2><a class="close" href=${closeHref} aria-label="Close details" title="Close (Esc)">
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M4 4l8 8M12 4l-8 8" /></svg></a></header>
    <div class="content">${children}</div>
  </aside>`;
}

/** Focuses the grid of the view or, in the overview, the first link under "Needs attention"; does nothing if neither exists. */
export function focusView(): void {
  document.querySelector<HTMLElement>('.grid, .attention a')?.focus();
}

/** Shows values with commas between them. Each value is isolated, so that right-to-left text does not reorder its neighbors. */
export function Values({ values }: { readonly values: readonly string[] }) {
  return html`<span>${values.map((value, index) => html`${index > 0 && ', '}<bdi>${value}</bdi>`)}</span>`;
}

/** Shows pairs of names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, Child])[] }) {
  return html`<dl class="facts">
    ${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value === '' || value === undefined ? '–' : value}</dd></div>`)}
  </dl>`;
}
