// `npm run pictures`: takes the screenshots for docs/ui.md in Chromium.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launchBrowser, PHONE, Tab } from './browser.ts';
import { fleetAt } from './fleet.ts';
import { Stage } from './stage.ts';

const FOLDER = join(import.meta.dirname, '../../docs/ui');
const WIDE = { width: 1280, height: 800 };

const PICTURES = [
  { name: 'overview', hash: '#/overview', viewport: WIDE },
  { name: 'tokens', hash: '#/tokens', viewport: WIDE },
  { name: 'details', hash: '#/tokens?state=failing&token=identity/backup-prod-us-east', viewport: WIDE },
  { name: 'clusters', hash: '#/clusters', viewport: WIDE },
  { name: 'phone', hash: '#/tokens', viewport: PHONE },
] as const;

await mkdir(FOLDER, { recursive: true });
const fleet = fleetAt(Date.now(), { clusters: 15, tokens: 120 });
await using stage = await Stage.start(fleet, []);
const browser = await launchBrowser();
try {
  for (const { name, hash, viewport } of PICTURES) {
    for (const scheme of ['light', 'dark'] as const) {
      await using tab = await Tab.open(browser, { viewport, scheme });
      await tab.page.goto(`${stage.url}${hash}`);
      await tab.untilLive();
      await tab.page.evaluate(() => document.fonts.ready);
      await tab.page.screenshot({ path: join(FOLDER, `${name}-${scheme}.webp`), type: 'webp', quality: 82 });
    }
  }
} finally {
  await browser.close();
}
