// Chromium, as Debian packages it, and tabs that record the problems of their pages.

import { accessSync, constants } from 'node:fs';
import * as axeCore from 'axe-core';
import { type Browser, type BrowserContext, launch, type Page, type Viewport } from 'puppeteer-core';

/** Path of Chromium, which the tests require: apt-get install chromium. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Time to wait for a state of the page, in milliseconds. Long, so that no test fails because the machine is busy. */
const TIMEOUT_MS = 180_000;

export const DESKTOP: Viewport = { width: 1280, height: 800 };
export const PHONE: Viewport = { width: 390, height: 844, isMobile: true, hasTouch: true };

export interface TabOptions {
  readonly viewport?: Viewport;
  readonly scheme?: 'light' | 'dark';
}

/** Starts Chromium without a window. Does not verify certificates, because those of local runs have a private CA. */
export async function launchBrowser(): Promise<Browser> {
  accessSync(CHROMIUM, constants.X_OK);
  return await launch({
    executablePath: CHROMIUM,
    headless: true,
    acceptInsecureCerts: true,
    // The sandbox of Chromium does not work for root.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    protocolTimeout: 120_000,
  });
}

/** A tab that records console messages, violations of the content security policy, and uncaught errors of its page. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly #problems: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warn') this.#problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.#problems.push(`error: ${String(error)}`));
  }

  static async open(browser: Browser, options: TabOptions = {}): Promise<Tab> {
    return await Tab.#open(await browser.createBrowserContext(), options);
  }

  /** Opens a tab that shares the connections of this tab. The new tab closes with this tab. */
  async openBeside(options: TabOptions = {}): Promise<Tab> {
    return await Tab.#open(this.page.browserContext(), options);
  }

  static async #open(context: BrowserContext, { viewport = DESKTOP, scheme = 'light' }: TabOptions): Promise<Tab> {
    const page = await context.newPage();
    const tab = new Tab(page);
    page.setDefaultTimeout(TIMEOUT_MS);
    await page.setViewport(viewport);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.evaluateOnNewDocument(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
      });
    });
    return tab;
  }

  /** Console errors and warnings, and uncaught errors, without those about failed requests, which tests cause on purpose. */
  get problems(): readonly string[] {
    return this.#problems.filter((text) => !text.includes('Failed to load resource') && !text.includes('net::ERR_'));
  }

  /** Opens an address and logs in. */
  async logIn(url: string, token = 'test-token'): Promise<void> {
    await this.page.goto(url);
    await this.page.waitForSelector('#token');
    await this.page.type('#token', token);
    await this.page.keyboard.press('Enter');
  }

  /** Waits until the page shows that its data is live. */
  async untilLive(): Promise<void> {
    await this.page.waitForSelector('.connection.live');
  }

  /** Returns the text of all matching elements. */
  async texts(selector: string): Promise<readonly string[]> {
    return await this.page.$$eval(selector, (elements) => elements.map((element) => (element as HTMLElement).innerText.trim()));
  }

  /** Waits until a matching element contains a string or, if `isWanted` is false, until none contains it. */
  async untilText(selector: string, text: string, isWanted = true): Promise<void> {
    await this.page.waitForFunction(
      (query: string, wanted: string, isPresent: boolean) =>
        [...document.querySelectorAll<HTMLElement>(query)].some((element) => element.innerText.includes(wanted)) === isPresent,
      {},
      selector,
      text,
      isWanted,
    );
  }

  /** Returns violations of accessibility rules that axe finds. */
  async accessibilityProblems(): Promise<readonly string[]> {
    await this.page.evaluate(axeCore.default.source);
    return await this.page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> };
      };
      const { violations } = await axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.browserContext().close();
  }
}
