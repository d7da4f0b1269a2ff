import { describe, expect, it } from '@jest/globals';
import { filter } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { ApiObject, Stored } from '../../src/api/resources.ts';
import type { Change } from '../../src/kube/store.ts';
import {
  annotationsChanged,
  anyOf,
  conditionTurnedTrue,
  fieldChanged,
  generationChanged,
  labelsChanged,
  type Predicate,
  statusNotOurs,
} from '../../src/runtime/predicates.ts';
import { stored } from '../support/stored.ts';

interface Thing extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[]; readonly phase?: string };
}

function thing(metadata: Thing['metadata'], status?: Thing['status']): Stored<Thing> {
  return stored({ metadata, ...(status && { status }) });
}

function update(previous: Stored<Thing>, object: Stored<Thing>): Change<Thing> {
  return { type: 'updated', key: 'ns/x', object, previous };
}

const added: Change<Thing> = { type: 'added', key: 'ns/x', object: thing({}) };
const deleted: Change<Thing> = { type: 'deleted', key: 'ns/x', object: thing({}) };

describe('predicates', () => {
  it.each<[string, Predicate<Thing>]>([
    ['generationChanged', generationChanged],
    ['annotationsChanged', annotationsChanged('tokens.purser.dev/')],
    ['labelsChanged', labelsChanged],
    ['fieldChanged', fieldChanged<Thing>(({ status }) => status?.phase)],
    ['statusNotOurs', statusNotOurs(() => undefined)],
  ])('matches added and deleted objects: %s', (_name, predicate) => {
    expect([added, deleted].map(predicate)).toEqual([true, true]);
  });

  it('filters a stream of changes', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ hot, expectObservable }) => {
      const changes = {
        a: added,
        s: update(thing({ generation: 1 }), thing({ generation: 1 }, { phase: 'new' })),
        g: update(thing({ generation: 1 }), thing({ generation: 2 })),
      };
      expectObservable(hot('a-s-g-s|', changes).pipe(filter(generationChanged))).toBe('a---g--|', changes);
    });
  });
});

describe('annotationsChanged', () => {
  const rotate = 'tokens.purser.dev/rotate';

  it.each([
    ['an annotation with the prefix is added', undefined, { [rotate]: '1' }, true],
    ['an annotation with the prefix changes', { [rotate]: '1', note: 'x' }, { [rotate]: '2', note: 'x' }, true],
    ['an annotation with the prefix is removed', { [rotate]: '1' }, undefined, true],
    ['only an annotation without the prefix changes', { [rotate]: '1', note: 'x' }, { note: 'y', [rotate]: '1' }, false],
    ['only an annotation that contains the prefix elsewhere is added', {}, { 'x.tokens.purser.dev/rotate': '1' }, false],
  ])('evaluates an update in which %s', (_case, before, after, holds) => {
    const [previous, object] = [before, after].map((annotations) => thing(annotations ? { annotations } : {}));
    expect(annotationsChanged('tokens.purser.dev/')(update(previous ?? thing({}), object ?? thing({})))).toBe(holds);
  });
});

describe('labelsChanged and fieldChanged', () => {
  const phaseChanged = fieldChanged<Thing>(({ status }) => status?.phase);

  it.each([
    ['a changed label', thing({ labels: { a: '1' } }), thing({ labels: { a: '2' } }), [true, false]],
    ['a removed label', thing({ labels: { a: '1' } }), thing({}), [true, false]],
    ['labels in another order', thing({ labels: { a: '1', b: '2' } }), thing({ labels: { b: '2', a: '1' } }), [false, false]],
    ['a changed field', thing({}, { phase: 'a' }), thing({}, { phase: 'b' }), [false, true]],
    ['another field', thing({ generation: 1 }, { phase: 'a' }), thing({ generation: 2 }, { phase: 'a' }), [false, false]],
  ])('matches %s', (_, previous, object, expected) => {
    expect([labelsChanged, phaseChanged].map((predicate) => predicate(update(previous, object)))).toEqual(expected);
  });
});

describe('statusNotOurs', () => {
  const ours = { phase: 'Ready', conditions: [{ type: 'Ready', status: 'True' }] };
  const sameInAnotherOrder = { conditions: [{ status: 'True', type: 'Ready' }], phase: 'Ready' };
  const theirs = { ...ours, phase: 'Hacked' };

  it.each([
    ['equals the written one', undefined, sameInAnotherOrder, false],
    ['is edited by another client', ours, theirs, true],
    ['is removed by another client', ours, undefined, true],
    ['is unchanged but foreign', theirs, theirs, false],
    ['is restored to the written one', theirs, ours, false],
  ])('evaluates a status that %s', (_case, before, after, holds) => {
    const predicate = statusNotOurs<Thing>((key) => (key === 'ns/x' ? ours : undefined));
    expect(predicate(update(thing({}, before), thing({}, after)))).toBe(holds);
  });

  it('matches any new status before the first write', () => {
    expect(statusNotOurs<Thing>(() => undefined)(update(thing({}), thing({}, ours)))).toBe(true);
  });
});

describe('conditionTurnedTrue', () => {
  const withReady = (status: string) =>
    thing(
      {},
      {
        conditions: [
          { type: 'Reachable', status: 'True' },
          { type: 'Ready', status },
        ],
      },
    );
  const predicate = conditionTurnedTrue<Thing>('Ready');

  it.each([
    ['became True', update(withReady('False'), withReady('True')), true],
    ['was unknown before', update(withReady('Unknown'), withReady('True')), true],
    ['was absent before', update(thing({}), withReady('True')), true],
    ['is True on a new object', { type: 'added', key: 'x', object: withReady('True') } as const, true],
    ['stayed True', update(withReady('True'), withReady('True')), false],
    ['became False', update(withReady('True'), withReady('False')), false],
    ['is absent', update(thing({}), thing({})), false],
    ['is not True on a new object', added, false],
    ['was True on a deleted object', { type: 'deleted', key: 'x', object: withReady('True') } as const, false],
  ])('evaluates a condition that %s', (_case, change, holds) => {
    expect(predicate(change)).toBe(holds);
  });
});

describe('anyOf', () => {
  it('matches if one of the predicates matches', () => {
    const change = update(thing({ generation: 1, annotations: { a: '1' } }), thing({ generation: 1, annotations: { a: '2' } }));
    const both = anyOf(generationChanged, annotationsChanged('a'));
    expect([both(change), anyOf(generationChanged)(change), anyOf()(change)]).toEqual([true, false, false]);
  });
});
