// After any edits by a tenant and any failures: no token remains once an administrator withdraws a permission or revokes the token.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import { ACCOUNTS, CLUSTERS, FleetWires, FleetWorld, MISSING, REQUESTERS } from './fleet-world.ts';

const MINUTE = 60_000;
const REVOKE = 'tokens.purser.dev/revoke';

let wires: FleetWires;
beforeAll(async () => {
  wires = await FleetWires.start();
});
afterAll(() => wires.close());

/** A named action, so that a counterexample is readable. */
interface Act {
  readonly what: string;
  readonly run: (world: FleetWorld) => unknown;
}

const act = (what: string, run: Act['run']): Act => ({ what, run });

const edit = (spec: Partial<ManagedTokenSpec>): Act =>
  act(JSON.stringify(spec), ({ hub }) => hub.change((token) => ({ ...token, spec: { ...token.spec, ...spec } })));

const annotate = (value: string): Act =>
  act(`revoke=${value}`, ({ hub }) =>
    hub.change((token) => ({ ...token, metadata: { ...token.metadata, annotations: { ...token.metadata.annotations, [REVOKE]: value } } })),
  );

const serviceAccounts = fc.constantFrom(...ACCOUNTS).map((account) => {
  const [namespace = '', name = ''] = account.split('/');
  return { serviceAccount: { namespace, name } };
});

const edits: fc.Arbitrary<Act> = fc
  .oneof(
    fc.constantFrom(...CLUSTERS, MISSING).map((clusterName) => ({ clusterName })),
    serviceAccounts,
    fc.boolean().map((suspend) => ({ rotation: { renewBefore: '20%', suspend } })),
    fc.constantFrom('None' as const, 'BoundSecret' as const).map((revocation) => ({ revocation })),
    fc.constantFrom('ci', 'renamed').map((name) => ({ secret: { name, outputs: ['Token' as const] } })),
    fc.constantFrom(...REQUESTERS, 'absent').map((requesterServiceAccountName) => ({ requesterServiceAccountName })),
    fc.constantFrom(599, 3600).map((expirationSeconds) => ({ expirationSeconds })),
    fc.constantFrom(['api'], ['api', 'vault']).map((audiences) => ({ audiences })),
    fc
      .constantFrom('https://192.0.2.1', undefined)
      .map((server) => ({ secret: { name: 'ci', outputs: ['Token' as const], ...(server && { server }) } })),
  )
  .map((spec) => edit(spec as Partial<ManagedTokenSpec>));

/** Other actions of tenants and of users of the targets. */
const mischief: fc.Arbitrary<Act> = fc.oneof(
  fc.integer({ min: 1, max: 3 }).map((value) => annotate(`me-${value}`)),
  fc.constant(act('delete Secrets', ({ hub }) => hub.secrets.clear())),
  fc.constant(
    act('forge revoke-request', ({ hub }) => {
      for (const secret of hub.secrets.values()) {
        const annotations = { ...secret.metadata.annotations, 'tokens.purser.dev/revoke-request': 'admin' };
        hub.put({ ...secret, metadata: { ...secret.metadata, annotations } });
      }
    }),
  ),
  fc.constantFrom('labels', 'ownerReferences', 'annotations').map((field) =>
    act(`remove ${field} of Secrets`, ({ hub }) => {
      for (const secret of hub.secrets.values()) hub.put({ ...secret, metadata: { ...secret.metadata, [field]: undefined } });
    }),
  ),
  fc.constant(
    act('remove labels of anchors', ({ targets }) => {
      for (const { anchors } of Object.values(targets))
        for (const [key, { metadata, ...anchor }] of anchors) anchors.set(key, { ...anchor, metadata: { ...metadata, labels: {} } });
    }),
  ),
);

const trouble: fc.Arbitrary<Act> = fc.constantFrom(...CLUSTERS).chain((name) =>
  fc.constantFrom<Act>(
    act(`${name} down`, ({ targets }) => (targets[name].isDown = true)),
    act(`${name} up`, ({ targets }) => (targets[name].isDown = false)),
    act(`${name} rejects the credential`, ({ targets }) => (targets[name].isRejecting = true)),
    act(`${name} accepts the credential`, ({ targets }) => (targets[name].isRejecting = false)),
    act(`unregister ${name}`, (world) => world.unregister(name)),
    act(`register ${name}`, (world) => world.register(name)),
    act('restart', (world) => world.restart()),
  ),
);

const passing: fc.Arbitrary<Act> = fc
  .constantFrom(0, 1_000, 11_000, 16_000, 6 * MINUTE)
  .map((ms) => act(`${ms / 1_000} s`, (world) => world.settle(ms)));

const acts = fc.array(
  fc.oneof(
    { arbitrary: edits, weight: 6 },
    { arbitrary: passing, weight: 6 },
    { arbitrary: mischief, weight: 2 },
    { arbitrary: trouble, weight: 2 },
  ),
  { minLength: 3, maxLength: 25 },
);

/** Ends all faults. */
function recover(world: FleetWorld): void {
  for (const name of CLUSTERS) {
    world.targets[name].isDown = false;
    world.targets[name].isRejecting = false;
    if (!world.isRegistered(name)) world.register(name);
  }
}

/** Runs the acts, recovers before or after the administrator's act, and returns the world once everything that is due has happened. */
async function runSchedule(sequence: readonly Act[], administrator: Act, isRecoveredFirst: boolean): Promise<FleetWorld> {
  const world = new FleetWorld(wires);
  await world.settle(1_000);
  for (const { run } of sequence) {
    await run(world);
    await world.tick();
  }
  if (isRecoveredFirst) recover(world);
  administrator.run(world);
  await world.settle(MINUTE);
  recover(world);
  await world.settle(14 * MINUTE);
  return world;
}

describe('token controller and an administrator', () => {
  // A Secret that a tenant has taken from a ManagedToken, which then names another service account, is a copy of the token.
  it('removes all Secrets and anchors of tokens whose permission the administrator withdraws', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.nat(), fc.boolean(), async (sequence, choice, isRecoveredFirst) => {
        let name = '';
        const withdraw = act('withdraw', (each) => {
          const names = [...new Set(each.alive().map((token) => token.name))];
          name = names[choice % names.length] ?? '';
          if (name !== '') each.withdraw(name);
        });
        const world = await runSchedule(sequence, withdraw, isRecoveredFirst);
        try {
          const left = world.alive().filter((token) => token.name === name);
          const { clusterName, serviceAccount } = world.hub.token.spec;
          const isNamed = name === `${clusterName}/${serviceAccount.namespace}/${serviceAccount.name}`;
          const stored = isNamed ? world.stored() : world.owned();
          const isLeft = left.filter(({ anchorUID, text }) => anchorUID !== undefined || stored.includes(text));
          expect({ acts: sequence.map(({ what }) => what), left: isLeft.map((token) => token.name) }).toEqual({
            acts: expect.anything(),
            left: [],
          });
        } finally {
          await world.close();
        }
      }),
      { numRuns: 30 },
    );
  });

  it('invalidates every token that was bound to an anchor before a revocation', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.boolean(), async (sequence, isRecoveredFirst) => {
        let before: readonly string[] = [];
        const revoke = act('revoke', (world) => {
          before = world.alive().flatMap(({ anchorUID, text }) => (anchorUID === undefined ? [] : [text]));
          annotate('admin').run(world);
        });
        const world = await runSchedule(sequence, revoke, isRecoveredFirst);
        try {
          const left = world.alive().filter(({ text }) => before.includes(text));
          expect({ acts: sequence.map(({ what }) => what), left: left.map((token) => token.name) }).toEqual({
            acts: expect.anything(),
            left: [],
          });
        } finally {
          await world.close();
        }
      }),
      { numRuns: 30 },
    );
  });

  it('invalidates every token that was bound to an anchor of a deleted ManagedToken, even if a finalizer keeps the object', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.boolean(), async (sequence, isKept) => {
        const remove = act('delete', ({ hub, clock }) => {
          const deletionTimestamp = new Date(clock.now()).toISOString();
          const finalizers = isKept ? ['example.com/theirs'] : [];
          hub.change((token) => ({
            ...token,
            // A deletion also changes the generation.
            spec: { ...token.spec },
            metadata: { ...token.metadata, deletionTimestamp, finalizers: [...(token.metadata.finalizers ?? []), ...finalizers] },
          }));
        });
        const world = await runSchedule(sequence, remove, true);
        try {
          const left = world.alive().filter(({ anchorUID }) => anchorUID !== undefined);
          expect({ acts: sequence.map(({ what }) => what), left: left.map((token) => token.name) }).toEqual({
            acts: expect.anything(),
            left: [],
          });
        } finally {
          await world.close();
        }
      }),
      { numRuns: 15 },
    );
  });
});
