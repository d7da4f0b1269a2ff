import { describe, expect, it, jest } from '@jest/globals';
import { toServiceAccountUser } from '../../../src/access/user.ts';
import { Visibility } from '../../../src/access/visibility.ts';
import { CLUSTER_LIST } from '../../../src/facade/clusters/cluster-list.ts';
import { Item } from '../../../src/facade/listwatch/collection.ts';
import { History } from '../../../src/facade/listwatch/history.ts';
import { type PageRequest, parseQuery, readPage } from '../../../src/facade/listwatch/page.ts';
import { CallerVersions, formatFacadeVersionAt } from '../../../src/facade/listwatch/version.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { parseSelectors, Selection } from '../../../src/kubernetes/selection.ts';
import { decodeContinue, encodeContinue } from '../../../src/kubernetes/wire/continue-token.ts';
import { FakeClock } from '../../support/clock.ts';

const clock = new FakeClock();

/** Returns a history of one cluster with the revisions 1 to 10. */
function createHistory(): History {
  const history = new History({ clock, capacity: 1_000 });
  const itemOf = (version: number) =>
    new Item({ apiVersion: 'v1', kind: 'Cluster', metadata: { name: 'prod', uid: 'u', resourceVersion: String(version) } }, 0);
  history.load([itemOf(1)], 1);
  for (let version = 2; version <= 10; version++)
    history.apply({ type: 'applied', resourceVersion: String(version), changes: [{ key: 'prod', item: itemOf(version) }] });
  return history;
}

function read(history: History, query: string, visibility: Visibility, more: Partial<PageRequest> = {}) {
  const parsed = parseQuery({ params: {}, query: new URLSearchParams(query) }, CLUSTER_LIST, false);
  return readPage(history, {
    ...parsed,
    signal: new AbortController().signal,
    clock,
    findVisibility: async () => visibility,
    currentVersion: (seen, sent) => new CallerVersions().next(toServiceAccountUser('ci', 'bot'), seen, history.revision, sent),
    ...more,
  });
}

/** Version of a caller who sees everything at revision 5. */
const fifth = formatFacadeVersionAt(5, Visibility.everything);

describe('readPage', () => {
  const invented = encodeContinue(BigInt(formatFacadeVersionAt(5, Visibility.nothing)), 'a');
  it.each([
    ['an exact version', `resourceVersion=${fifth}&resourceVersionMatch=Exact`],
    ['an invented continue token', `continue=${invented}`],
  ])('restores no objects for a caller who sees none: %s', async (_case, query) => {
    const history = createHistory();
    const restore = jest.spyOn(history, 'at');
    expect(await read(history, query, Visibility.nothing)).toMatchObject({ items: [], version: { revision: 5 }, continue: '' });
    expect(restore).not.toHaveBeenCalled();
  });

  it('returns 410 for an unknown revision to a caller who sees no objects', async () => {
    const history = new History({ clock, capacity: 1_000 });
    history.load([], 8);
    await expect(read(history, `resourceVersion=${fifth}&resourceVersionMatch=Exact`, Visibility.nothing)).rejects.toMatchObject({
      code: 410,
    });
  });

  it('evaluates a selector only until the page is full', async () => {
    const evaluated: string[] = [];
    class CountingSelection extends Selection {
      override matches(object: KubeObject): boolean {
        evaluated.push(object.metadata.name ?? '');
        return super.matches(object);
      }
    }
    const names = ['a', 'b', 'c', 'd', 'e'];
    const history = new History({ clock, capacity: 1_000 });
    history.load(
      names.map((name) => new Item({ apiVersion: 'v1', kind: 'Cluster', metadata: { name, uid: name, resourceVersion: '1' } }, 0)),
      1,
    );
    const selection = new CountingSelection(CLUSTER_LIST.kind, parseSelectors('', 'metadata.name!=a'), '');
    const page = await read(history, 'limit=2', Visibility.everything, { selection });
    expect([page.items.map(({ key }) => key), evaluated]).toEqual([
      ['b', 'c'],
      ['a', 'b', 'c', 'd'],
    ]);
  });

  it('continues the list of a namespace from a key within the namespace, as kube-apiserver does', async () => {
    const history = new History({ clock, capacity: 1_000 });
    const keys = ['team-a/a', 'team-a/b', 'team-b/a', 'team-b/b', 'team-b/c', 'team-c/a'].map((key) => key.split('/'));
    history.load(
      keys.map(([namespace = '', name = '']) => {
        const metadata = { namespace, name, uid: `${namespace}-${name}`, resourceVersion: '1' };
        return new Item({ apiVersion: 'v1', kind: 'ManagedToken', metadata }, 0);
      }),
      1,
    );
    const first = await read(history, 'limit=1', Visibility.everything, { namespace: 'team-b' });
    expect(decodeContinue(first.continue).start).toBe('a\0');
    const next = await read(history, `continue=${first.continue}`, Visibility.everything, { namespace: 'team-b' });
    expect(next.items.map(({ key }) => key)).toEqual(['team-b/b', 'team-b/c']);
  });

  it('restores the exact version for a caller who sees some objects', async () => {
    const page = await read(createHistory(), `resourceVersion=${fifth}&resourceVersionMatch=Exact`, new Visibility(new Set(['prod'])));
    expect(page.items.map(({ revision }) => revision)).toEqual([5]);
  });
});
