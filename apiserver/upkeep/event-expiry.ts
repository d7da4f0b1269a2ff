// Events are news: they are kept for an hour.

import type { Api } from '../verbs/api.ts';
import type { Stop } from './upkeep.ts';

const LIFETIME_MS = 3_600_000;
const INTERVAL_MS = 60_000;

export function expireEvents(api: Api): Stop {
  let cancel: Stop;
  const sweep = () => {
    const oldest = api.now() - LIFETIME_MS;
    for (const { metadata } of api.store.list('events')) {
      if (Date.parse(metadata.creationTimestamp ?? '') < oldest) api.store.remove('events', `${metadata.namespace}/${metadata.name}`);
    }
    cancel = api.wakeAt(api.now() + INTERVAL_MS, sweep);
  };
  sweep();
  return () => cancel();
}
