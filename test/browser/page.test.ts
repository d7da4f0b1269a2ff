import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'puppeteer-core';
import { textEverywhere } from '../ui/model/tokens.ts';
import { DESKTOP, launchBrowser, PHONE, Tab, type TabOptions } from './browser.ts';
import { type ApiObject, fleetAt, tokenAt } from './fleet.ts';
import { Stage } from './stage.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const SIZES = { clusters: 15, tokens: 120 };

/** Calls `use` with a page of a fleet; then checks that the page reported no problem. */
async function withPage(
  hash: string,
  use: (tab: Tab, stage: Stage) => Promise<void>,
  options: TabOptions & { readonly sizes?: typeof SIZES } = {},
) {
  await using stage = await Stage.start(fleetAt(Date.now(), options.sizes ?? SIZES));
  await using tab = await Tab.open(browser, options);
  await tab.logIn(`${stage.url}${hash}`);
  await tab.untilLive();
  await use(tab, stage);
  expect(tab.problems).toEqual([]);
}

/** Returns the cells that are not completely inside their row. */
function cellsOutsideOfRows(): readonly string[] {
  return [...document.querySelectorAll('.space .row > *')]
    .filter((cell) => cell.checkVisibility())
    .filter((cell) => {
      const [inner, outer] = [cell.getBoundingClientRect(), cell.parentElement?.getBoundingClientRect() ?? new DOMRect()];
      return inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1 || inner.left < outer.left - 1 || inner.right > outer.right + 1;
    })
    .map((cell) => cell.outerHTML);
}

const NAMES = '.token-grid .space .row .names:not(.target) b';

describe('page of the web UI', () => {
  it.each([
    ['overview', '#/overview'],
    ['tokens', '#/tokens'],
    ['clusters', '#/clusters'],
    ['details of a failing token', '#/tokens?token=identity/backup-prod-us-east'],
    ['details of a failing cluster', '#/clusters?cluster=staging-eu-west'],
    ['filter without results', '#/tokens?q=nothing'],
  ])('has no accessibility problems in light and dark mode: %s', async (_name, hash) => {
    for (const scheme of ['light', 'dark'] as const) {
      await withPage(
        hash,
        async (tab) => {
          expect(await tab.accessibilityProblems()).toEqual([]);
        },
        { scheme },
      );
    }
  });

  it('has an accessible login', async () => {
    await using stage = await Stage.start(fleetAt(Date.now(), SIZES));
    await using tab = await Tab.open(browser);
    await tab.page.goto(stage.url);
    await tab.page.waitForSelector('#token');
    expect(await tab.accessibilityProblems()).toEqual([]);
    expect(tab.problems).toEqual([]);
  });

  it('shows urgent objects first: clusters with the tokens that they affect, then ManagedTokens without a valid token', async () => {
    await withPage('#/overview', async (tab) => {
      const items = await tab.texts('.attention li .what b');
      expect(items.slice(0, 3)).toEqual(['staging-eu-west', 'staging-us-east', 'observability/backup-edge-us-west']);
      expect(await tab.texts('.attention li:first-child .why small')).toEqual(['Timeout · 8 failing tokens']);
    });
  });

  it('shows the cause and remedy at the link of the chain that failed', async () => {
    await withPage('#/tokens?token=identity/backup-prod-us-east', async (tab) => {
      expect(await tab.texts('.chain li .verdict')).toEqual(['OK', 'Failed', 'Not reached', 'Not reached', 'Not reached']);
      expect((await tab.texts('.chain li.failed .message'))[0]).toContain('Grant the permission with a ClusterRole');
    });
  });

  it('draws only the visible rows of 10,000 tokens', async () => {
    await withPage(
      '#/tokens?order=expiry',
      async (tab) => {
        await tab.untilText('.foot', '10,000 tokens');
        expect((await tab.texts('.space .row')).length).toBeLessThan(60);
        await tab.page.focus('.grid');
        await tab.page.keyboard.press('End');
        await tab.page.waitForSelector('.row[aria-rowindex="10001"]');
        expect((await tab.texts('.space .row')).length).toBeLessThan(60);
      },
      { sizes: { clusters: 1_000, tokens: 10_000 } },
    );
  });

  it('keeps filters, order, zoom and details in the address', async () => {
    await withPage('#/tokens?q=cluster:staging+backup&state=ready&zoom=1y&order=expiry', async (tab) => {
      expect(await tab.texts('.choices [aria-current]')).toEqual([expect.stringMatching(/^Ready/), 'Expiry', '1y']);
      const names = await tab.texts(NAMES);
      expect(names.length).toBeGreaterThan(0);
      expect(names.every((name) => name.startsWith('backup-staging'))).toBe(true);
      await tab.page.click('.space .row');
      await tab.page.waitForSelector('.panel');
      const { href } = new URL(tab.page.url());
      expect(href).toMatch(/#\/tokens\?q=cluster:staging\+backup&state=ready&zoom=1y&order=expiry&token=[\w-]+\/backup-staging/);
      await tab.page.goBack();
      await tab.page.waitForSelector('.panel', { hidden: true });
    });
  });

  it('searches, opens details, zooms and changes views with the keyboard alone', async () => {
    await withPage('#/overview', async (tab) => {
      const { keyboard } = tab.page;
      await keyboard.press('/');
      await keyboard.type('payments');
      await tab.untilText('.foot', 'of 120 tokens');
      await keyboard.press('ArrowDown');
      await keyboard.press('ArrowDown');
      await keyboard.press('ArrowDown');
      const second = (await tab.texts(NAMES))[1] ?? '';
      expect(await tab.texts('.row.active .names:not(.target) b')).toEqual([second]);
      await keyboard.press('Enter');
      await tab.untilText('.panel h2', second);
      await keyboard.press('Escape');
      await tab.page.waitForSelector('.panel', { hidden: true });
      expect(await tab.page.evaluate(() => document.activeElement?.className)).toContain('grid');
      await keyboard.press('-');
      expect(new URL(tab.page.url()).hash).toContain('zoom=1d');
      await keyboard.press('Escape');
      await tab.untilText('.foot', '120 tokens');
      await keyboard.press('3');
      await tab.page.waitForSelector('.cluster-grid');
    });
  });

  it('closes details with Escape in the search field, and keeps the search', async () => {
    await withPage('#/tokens?q=payments', async (tab) => {
      await tab.untilText('.foot', 'of 120 tokens');
      await tab.page.focus('.grid');
      await tab.page.keyboard.press('ArrowDown');
      await tab.page.keyboard.press('Enter');
      await tab.page.waitForSelector('.panel');
      await tab.page.keyboard.press('/');
      await tab.page.keyboard.press('Escape');
      await tab.page.waitForSelector('.panel', { hidden: true });
      expect(await tab.page.evaluate(() => location.hash)).toContain('q=payments');
    });
  });

  it('closes details that have just opened with Escape, returns the focus at once, and keeps the search', async () => {
    await withPage('#/tokens?q=payments', async (tab) => {
      await tab.untilText('.foot', 'of 120 tokens');
      await tab.page.focus('.grid');
      await tab.page.keyboard.press('ArrowDown');
      const states = await tab.page.evaluate(async () => {
        const press = async (key: string) => {
          document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
          // The page renders before the next frame.
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
          return {
            isOpen: document.querySelector('.panel') !== null,
            focused: document.activeElement?.role ?? document.activeElement?.nodeName,
            hash: location.hash,
          };
        };
        return [await press('Enter'), await press('Escape')];
      });
      expect(states).toEqual([
        { isOpen: true, focused: 'H2', hash: expect.stringContaining('q=payments') },
        { isOpen: false, focused: 'grid', hash: expect.stringContaining('q=payments') },
      ]);
    });
  });

  it('keeps the focus on a link outside the details that closes them', async () => {
    await withPage('#/tokens', async (tab) => {
      for (const view of ['Clusters', 'Overview', 'Tokens']) {
        await tab.page.goto(tab.page.url().replace(/#.*/, '#/tokens?token=identity/backup-prod-us-east'));
        await tab.page.waitForSelector('.panel');
        await tab.page.$$eval(
          'nav a',
          (links, name) => {
            (links.find(({ textContent }) => textContent === name) as HTMLElement).focus();
          },
          view,
        );
        await tab.page.keyboard.press('Enter');
        await tab.page.waitForSelector('.panel', { hidden: true });
        expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toBe(view);
      }
    });
  });

  it.each([{ isComposing: true }, { keyCode: 229 }])('ignores keys of input methods: %j', async (init) => {
    await withPage('#/tokens?q=payments', async (tab) => {
      await tab.untilText('.foot', 'of 120 tokens');
      const { hash } = new URL(tab.page.url());
      const after = await tab.page.evaluate(async (more) => {
        const search = document.querySelector<HTMLInputElement>('.search input');
        search?.focus();
        search?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true, ...more }));
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
        return { hash: location.hash, isFocused: document.activeElement === search };
      }, init);
      expect(after).toEqual({ hash, isFocused: true });
    });
  });

  it('focuses the details of another object, and the list when they close', async () => {
    await withPage('#/tokens?token=identity/backup-prod-us-east', async (tab) => {
      await tab.page.waitForSelector('.panel .chain a');
      await tab.page.focus('.panel .chain a');
      await tab.page.keyboard.press('Enter');
      await tab.untilText('.panel h2', 'prod-us-east');
      await tab.untilText('.panel h2', 'backup', false);
      expect(await tab.page.evaluate(() => document.activeElement?.nodeName)).toBe('H2');
      await tab.page.keyboard.press('Escape');
      await tab.page.waitForSelector('.panel', { hidden: true });
      expect(await tab.page.evaluate(() => document.activeElement?.className)).toContain('grid');
    });
  });

  it('focuses the list when details close that were open from the start', async () => {
    await withPage('#/tokens?token=identity/backup-prod-us-east', async (tab) => {
      await tab.page.waitForSelector('.panel');
      await tab.page.keyboard.press('Escape');
      await tab.page.waitForSelector('.panel', { hidden: true });
      expect(await tab.page.evaluate(() => document.activeElement?.className)).toContain('grid');
    });
  });

  it.each([[DESKTOP], [PHONE]])('fits the width of the screen: %p', async (viewport) => {
    for (const hash of ['#/overview', '#/tokens', '#/clusters', '#/tokens?token=identity/backup-prod-us-east'])
      await withPage(
        hash,
        async (tab) => {
          const overflow = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect(overflow).toBeLessThanOrEqual(0);
          expect(await tab.page.evaluate(cellsOutsideOfRows)).toEqual([]);
        },
        { viewport },
      );
  });

  it('moves no row while events arrive', async () => {
    await withPage('#/tokens', async (tab, stage) => {
      await tab.page.$eval('.grid', (grid) => grid.scrollTo(0, 48 * 40));
      await tab.page.waitForFunction(() => document.querySelector('.space .row')?.getAttribute('aria-rowindex') !== '2');
      // The movements of loading and scrolling belong to frames before the observation.
      await tab.page.evaluate(async () => {
        const frame = () => new Promise(requestAnimationFrame);
        await frame();
        await frame();
        const shifts: string[] = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) {
            const { sources } = entry as unknown as { readonly sources: readonly { readonly node: Node | null }[] };
            for (const source of sources) {
              // A right-aligned text that changes its width in its own cell moves no row.
              if (source.node instanceof Text) continue;
              shifts.push(`${source.node instanceof Element ? source.node.outerHTML : 'removed element'} ${JSON.stringify(source)}`);
            }
          }
        }).observe({ type: 'layout-shift', buffered: false });
        Object.assign(globalThis, { shifts });
      });
      const topRow = () =>
        tab.page.$eval('.grid', (grid) => document.elementFromPoint(300, grid.getBoundingClientRect().top + 40)?.closest('.row')?.id);
      const before = await topRow();
      for (let index = 0; index < 120; index += 1) stage.put('managedtokens', tokenAt(index, Date.now(), { clusters: 15, generation: 1 }));
      const first = tokenAt(0, Date.now(), SIZES);
      stage.put('managedtokens', { ...first, metadata: { ...first.metadata, namespace: 'aaa' } });
      await tab.untilText('.foot', '121 tokens');
      expect(await topRow()).toBe(before);
      expect(await tab.page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts)).toEqual([]);
    });
  });

  it('shows changes and removals immediately', async () => {
    await withPage('#/tokens?q=identity/backup-prod-us-east', async (tab, stage) => {
      await tab.untilText('.space .row .badge', 'Failing');
      const healed = tokenAt(11, Date.now(), SIZES);
      const failing = tokenAt(3, Date.now(), SIZES);
      stage.put('managedtokens', { ...failing, status: healed['status'] });
      await tab.untilText('.space .row .badge', 'Failing', false);
      stage.remove('managedtokens', failing);
      await tab.untilText('.empty', 'No token matches');
    });
  });

  it('shows no text from a link whose key is not a valid name', async () => {
    await withPage(`#/overview?token=${encodeURIComponent('a/Your session has expired')}`, async (tab) => {
      await tab.untilText('.panel', 'Not found');
      expect((await tab.texts('.panel')).join()).not.toContain('session');
    });
  });

  it('resumes after the server has ended all watches', async () => {
    await withPage('#/tokens', async (tab, stage) => {
      stage.endWatches();
      await tab.page.waitForSelector('.connection:not(.live)');
      await tab.untilLive();
      const renamed = tokenAt(0, Date.now(), SIZES);
      stage.put('managedtokens', { ...renamed, metadata: { ...renamed.metadata, name: 'added-later' } });
      await tab.untilText('.foot', '121 tokens');
    });
  });

  it.each([
    [403, 'Permission denied', 'Ask an administrator for permission to get, list and watch these objects'],
    [429, 'limits the rate of requests', 'retries'],
    [500, 'responded with status 500', "check Purser's log"],
  ])('shows the cause and remedy of status %d', async (status, cause, remedy) => {
    await using stage = await Stage.start(fleetAt(Date.now(), SIZES));
    stage.refusal = { status, message: 'no', ...(status === 429 && { retryAfter: '1' }) };
    await using tab = await Tab.open(browser);
    await tab.logIn(stage.url);
    await tab.untilText('.problem', cause);
    await tab.untilText('.problem', remedy);
    expect(await tab.accessibilityProblems()).toEqual([]);
    stage.refusal = undefined;
    if (status !== 403) await tab.untilLive();
  });

  it('returns to the login with the reason when the token is rejected, and forgets all objects', async () => {
    await withPage('#/tokens', async (tab, stage) => {
      stage.refusal = { status: 401, message: 'Unauthorized' };
      stage.endWatches();
      await tab.untilText(
        '.login',
        'The façade does not accept the token: the token is invalid, has expired, or has none of the accepted audiences.',
      );
      expect(await tab.texts('.row')).toEqual([]);
    });
  });

  it.each([
    [401, 'The hub does not accept the credential in your kubeconfig', 'Log in to the cluster of your kubeconfig again'],
    [500, 'The hub responded with status 500', "check Purser's log"],
  ])('marks the connection as partly live, with cause and remedy, after status %d from the hub', async (status, cause, remedy) => {
    const fleet = fleetAt(Date.now(), SIZES);
    await using stage = await Stage.start(fleet, fleet.clusters);
    await using tab = await Tab.open(browser);
    await tab.page.goto(`${stage.url}#/clusters`);
    await tab.page.waitForSelector('.with-hub');
    await tab.untilLive();
    stage.hubRefusal = { status, message: 'no' };
    stage.endWatches();
    await tab.untilText('.connection', 'Partly live');
    await tab.untilText('.foot', cause);
    await tab.untilText('.foot', remedy);
    expect((await tab.texts('.space .row')).length).toBeGreaterThan(0);
    expect(await tab.accessibilityProblems()).toEqual([]);
  });

  it('shows live data without permission to list Clusters on the hub', async () => {
    const fleet = fleetAt(Date.now(), SIZES);
    await using stage = await Stage.start(fleet, fleet.clusters);
    stage.hubRefusal = { status: 403, message: 'no' };
    await using tab = await Tab.open(browser);
    await tab.page.goto(`${stage.url}#/clusters`);
    await tab.untilLive();
    expect(await tab.texts('.foot')).toEqual(['15 clusters']);
  });

  it('ends the watches of hidden tabs, so that a third tab can connect', async () => {
    const fleet = fleetAt(Date.now(), SIZES);
    await using stage = await Stage.start(fleet, fleet.clusters);
    await using first = await Tab.open(browser);
    await first.page.goto(stage.url);
    await first.untilLive();
    const others = [await first.openBeside(), await first.openBeside()];
    for (const tab of others) {
      await tab.page.bringToFront();
      await tab.page.goto(stage.url);
      await tab.untilLive();
      expect(stage.watching).toBeLessThanOrEqual(3);
    }
    const { requests } = stage;
    await first.page.bringToFront();
    while (stage.requests < requests + 3) await setImmediate();
    const renamed = tokenAt(0, Date.now(), SIZES);
    stage.put('managedtokens', { ...renamed, metadata: { ...renamed.metadata, name: 'added-later' } });
    await first.untilText('.card .total', '121');
  });

  it('keeps the token in memory only, and forgets it on logout', async () => {
    await withPage('#/overview', async (tab, stage) => {
      const stored = () => tab.page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location.href]));
      expect(await stored()).not.toContain('test-token');
      await tab.page.click('.logout');
      await tab.page.waitForSelector('#token');
      expect(await tab.page.$eval('#token', (field) => (field as HTMLInputElement).value)).toBe('');
      expect(await tab.page.content()).not.toContain('test-token');
      const { watching } = stage;
      expect(watching).toBeLessThanOrEqual(2);
      await tab.page.reload();
      await tab.page.waitForSelector('#token');
    });
  });
});

describe('page of the web UI with hostile objects', () => {
  const MARKUP = '<img src=x onerror="globalThis.attacked=1"><script>globalThis.attacked=1</script>';
  const LONG = 'x'.repeat(253);

  /** Returns a ManagedToken with a hostile string in every field that the page shows. */
  function hostileToken(index: number, text: string): ApiObject {
    const token = tokenAt(3, Date.now(), SIZES);
    const { metadata, spec, status } = textEverywhere(text);
    return {
      ...token,
      metadata: { ...token.metadata, ...metadata, namespace: `hostile-${index}` },
      spec: { ...spec, rotation: null },
      status: { ...status, issuedAt: '2026-11-17T07:00:00Z', expirationTimestamp: '9999-12-31T23:59:59Z', rotations: 1e308 },
    };
  }

  it.each([
    ['markup', MARKUP],
    ['a name of the maximum length', LONG],
    ['a megabyte of words', 'word '.repeat(200_000)],
    ['right-to-left and control characters', '\u202eevil\u0000\u001b[2J\u2028'],
    ['a javascript URL', 'javascript:globalThis.attacked=1'],
    ['the property name __proto__', '__proto__'],
  ])('shows objects without running code or breaking the page if their strings contain %s', async (_name, text) => {
    const cluster = fleetAt(Date.now(), SIZES).clusters[4] as ApiObject;
    const conditions = [
      { type: 'Ready', status: 'False', reason: text, message: text },
      { type: text, status: 'False', reason: text, message: text },
    ];
    const status = { version: text, type: text, conditions };
    const clusters = [
      {
        ...cluster,
        metadata: { ...cluster.metadata, name: text, labels: { [text]: text } },
        spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: text }] } },
        status,
      },
    ];
    await using stage = await Stage.start({ clusters, tokens: [hostileToken(1, text)] });
    await using tab = await Tab.open(browser);
    await tab.logIn(`${stage.url}#/tokens`);
    await tab.untilLive();
    for (const hash of ['#/overview', '#/clusters', '#/tokens']) {
      await tab.page.evaluate((next) => (location.hash = next), hash);
      await tab.page.waitForSelector(`.${hash.slice(2)}`);
      if (hash !== '#/overview') {
        await tab.page.click('.space .row');
        await tab.page.waitForSelector('.panel');
      }
      expect(await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await tab.page.$$eval('img, script, [onerror]', (elements) => elements.length)).toBe(2);
      await tab.page.keyboard.press('Escape');
    }
    expect(await tab.page.evaluate(() => (globalThis as unknown as { attacked?: number }).attacked)).toBeUndefined();
    const content = await tab.page.content();
    expect(['\u202e', '\u2028', '\u001b'].filter((character) => content.includes(character))).toEqual([]);
    expect(tab.problems).toEqual([]);
  });
});
