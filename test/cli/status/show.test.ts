// `purser status` as users run it, with an embedded hub, a target and a running controller.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CommandHost } from '../../../src/cli/command.ts';
import { showFleet, showToken } from '../../../src/cli/status/show.ts';
import { TokenWorld } from '../../tokens/token-world.ts';

let world: TokenWorld;
let printed: string;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

const plain = { output: undefined, paint: (_: string, text: string) => text };

function host(): CommandHost {
  printed = '';
  const print = (text: string) => {
    printed += text;
  };
  return { clock: world.clock, env: {}, print, warn: print, signal: new AbortController().signal };
}

describe('purser status', () => {
  it('prints a denied ManagedToken with the missing permission', async () => {
    await world.run();
    await world.forbid();
    await world.create();
    await world.until(async () => (await world.condition('Ready')) !== undefined);
    await showFleet({ hub: world.hub.admin, namespace: world.namespace, ...plain }, host());
    expect(printed).toContain(`ManagedToken ${world.namespace}/ci: Forbidden`);
    expect(printed).toContain('cannot issue clusters/token');
    expect(printed).toContain('ManagedTokens: 0 of 1 ready');
  });

  it('mentions -A in a namespace without ManagedTokens', async () => {
    await showFleet({ hub: world.hub.admin, namespace: world.namespace, ...plain }, host());
    expect(printed).toContain(`There are no ManagedTokens in namespace ${world.namespace}. Use -A to check all namespaces.`);
  });

  it('prints a documented JSON object with timestamps', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    await showFleet({ hub: world.hub.admin, namespace: undefined, ...plain, output: 'json' }, host());
    expect(JSON.parse(printed)).toMatchObject({
      apiVersion: 'cli.purser.dev/v1alpha1',
      kind: 'FleetStatus',
      managedTokens: { total: 1, ready: 1, suspended: 0, problems: [], nextRotation: expect.stringMatching(/^\d{4}-.*Z$/) },
      managedTokenSets: { total: 0, ready: 0, problems: [] },
    });
  });

  it('prints no part of the token of an inspected ManagedToken', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    const token = await world.tokenText();
    for (const output of [undefined, 'json'] as const) {
      const target = { role: 'target cluster', context: undefined, client: world.target.admin } as const;
      const hub = { role: 'hub', context: undefined, client: world.hub.admin } as const;
      const inspection = { hub, target, name: { namespace: world.namespace, name: 'ci' } };
      await showToken({ ...inspection, ...plain, output }, host());
      expect(printed).not.toContain(token.slice(-24));
      expect(printed).toContain('the cluster accepts it');
    }
  });

  it('names the remedy if the user may not list ManagedTokens', async () => {
    const bob = world.hub.client('bobtoken');
    const shown = showFleet({ hub: bob, namespace: undefined, ...plain }, host());
    await expect(shown).rejects.toThrow('not permitted to list ManagedTokens in all namespaces. Select a namespace with -n');
    await bob.transport.close();
  });
});
