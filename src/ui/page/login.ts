// The login with a bearer token, which stays in the memory of the page.

import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from '../model/problems.ts';
import { html } from './html.ts';
import { CommandLine } from './parts.ts';

interface LoginProps {
  /** Problem of an earlier credential that was rejected; undefined if there is none. */
  readonly problem: Problem | undefined;
  readonly onLogin: (token: string) => void;
}

/** Pattern of a bearer token. */
const TOKEN = /^[\w.~+/=-]+$/;

export function Login({ problem, onLogin }: LoginProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    const input = field.current;
    if (input === null) return;
    const token = input.value.trim().replace(/^Bearer\s+/i, '');
    input.setCustomValidity(
      TOKEN.test(token) ? '' : 'Enter only the bearer token: letters, digits and the characters - . _ ~ + / =, without quotes or spaces.',
    );
    if (input.reportValidity()) onLogin(token);
  };
  return html`<main class="login">
    <form onSubmit=${onSubmit} autocomplete="off">
      <h1><img src="static/icon.svg" alt="" width="32" height="32" />Purser</h1>
      ${problem !== undefined && html`<p class="cause bad" role="alert">${problem.cause} ${problem.remedy}</p>`}
      <label for="token">Bearer token</label>
      <input id="token" ref=${field} type="password" autocomplete="off" spellcheck=${false} required maxlength="16000"
        aria-describedby="token-help" onInput=${(event: Event) => (event.target as HTMLInputElement).setCustomValidity('')} />
      <button type="submit">Log in</button>
      <div id="token-help"><p>Use a token that the hub accepts. If Purser runs with --facade-audiences, the token must be for one of the listed audiences. The page shows the clusters and tokens that the token's user may see, and keeps the token in memory only, until you log out, reload or close the page.</p>
      <p>Create a token for a service account on the hub:</p></div>
      <${CommandLine} text="kubectl create token SERVICE_ACCOUNT -n NAMESPACE" />
      <p>Or use your own kubeconfig, without a login:</p>
      <${CommandLine} text="purser ui" />
    </form>
  </main>`;
}
