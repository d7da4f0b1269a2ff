// Entry point of the page.

import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';

const root = document.querySelector('#app');
if (root !== null) render(html`<${App} needsLogin=${document.documentElement.dataset['login'] === 'token'} />`, root);
