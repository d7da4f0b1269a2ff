// The lines of a watch, in the form that the caller asked for. Plain ones are made of the shared bytes of each cluster.

import { RegistryGroup, Version } from '../../api/names.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { showEvent, type View } from '../../kubernetes/representation.ts';
import type { Status } from '../../kubernetes/status.ts';
import { watchEventText } from '../../kubernetes/wire/encode.ts';
import { orderedJson } from '../../kubernetes/wire/ordered-json.ts';
import type { Clock } from '../../std/clock.ts';
import { goJson } from '../../std/go-text.ts';
import type { PublishedCluster } from '../listwatch/item.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How events are written. */
export interface EventForm {
  /** Whether the lines are the same for everybody. */
  readonly isShared: boolean;
  event(type: EventType, cluster: PublishedCluster, version: string): readonly Buffer[];
  bookmark(version: string, endsInitialEvents: boolean): Buffer;
}

/** Clusters as they are. */
export const PLAIN: EventForm = {
  isShared: true,
  event: (type, cluster, version) => [PREFIXES[type], ...cluster.parts(version), SUFFIX],
  bookmark: (version, endsInitialEvents) => Buffer.from(watchEventText('BOOKMARK', goJson(bookmarkObject(version, endsInitialEvents)))),
};

/** Tables, or metadata alone. Only the first event of a watch has the columns of its table. */
export function convertedForm(view: View, clock: Clock): EventForm {
  let isFirst = true;
  const line = (type: string, object: KubeObject) => {
    const text = showEvent(object, { ...view, now: clock.now() }, isFirst);
    isFirst = false;
    return Buffer.from(watchEventText(type, text));
  };
  return {
    isShared: false,
    event: (type, cluster, version) => [line(type, cluster.at(version))],
    bookmark: (version, endsInitialEvents) => line('BOOKMARK', bookmarkObject(version, endsInitialEvents)),
  };
}

/** The last line of a watch that cannot go on. */
export function errorLine(status: Status): Buffer {
  return Buffer.from(watchEventText('ERROR', orderedJson(status)));
}

const PREFIXES: Readonly<Record<EventType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const SUFFIX = Buffer.from('}\n');

function bookmarkObject(resourceVersion: string, endsInitialEvents: boolean): KubeObject {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  return {
    apiVersion: `${RegistryGroup}/${Version}`,
    kind: 'Cluster',
    metadata: { ...(endsInitialEvents && { annotations }), resourceVersion },
  };
}
