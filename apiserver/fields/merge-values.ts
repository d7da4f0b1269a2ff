// Merging an applied object into the live one. Nothing is removed here.

import { isFields } from '../../src/kubernetes/object.ts';
import { fieldOf } from '../same-value.ts';
import { entryElement } from './list-entry.ts';
import { fieldType, type ListType, type MapType, type MergeType, partFor } from './merge-type.ts';
import type { PathElement } from './path-element.ts';

/** `live` with everything that `applied` mentions. */
export function mergeValues(type: MergeType, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  const part = partFor(type, applied);
  if (part === 'map' && type.map) return mergeMaps(type.map, live, applied);
  if (part === 'list' && type.list) return mergeLists(type.list, live, applied);
  return applied;
}

function mergeMaps(map: MapType, live: unknown, applied: unknown): unknown {
  const mine = isFields(applied) ? applied : {};
  const theirs = isFields(live) ? live : {};
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  if (map.atomic || names.size === 0) return applied;
  return Object.fromEntries(
    Array.from(names, (name) => [name, mergeValues(fieldType(map, name) ?? {}, fieldOf(theirs, name), fieldOf(mine, name))]),
  );
}

/** Entries stand in the order of `applied`; those that only `live` has keep their place before the next shared one. */
function mergeLists(list: ListType, live: unknown, applied: unknown): unknown {
  const mine: readonly unknown[] = Array.isArray(applied) ? applied : [];
  const theirs: readonly unknown[] = Array.isArray(live) ? live : [];
  if (list.atomic || (mine.length === 0 && theirs.length === 0)) return applied;
  const appliedElements = mine.map((entry) => entryElement(list, entry));
  const liveElements = theirs.map((entry) => entryElement(list, entry));
  const isApplied = new Set(appliedElements);
  const isLive = new Set(liveElements);
  const merged: unknown[] = [];
  let next = 0;
  const takeLiveUntil = (shared: PathElement | undefined): void => {
    for (; next < theirs.length && liveElements[next] !== shared; next++) {
      if (!isApplied.has(liveElements[next] ?? '')) merged.push(theirs[next]);
    }
  };
  for (const [index, entry] of mine.entries()) {
    takeLiveUntil(appliedElements.slice(index).find((element) => isLive.has(element)));
    const element = appliedElements[index];
    const same = liveElements.filter((other) => other === element).length === 1 ? theirs[liveElements.indexOf(element ?? '')] : undefined;
    merged.push(mergeValues(list.items(), same, entry));
    if (liveElements[next] === element) next++;
  }
  takeLiveUntil(undefined);
  return merged;
}
