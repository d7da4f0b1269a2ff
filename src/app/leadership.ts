// Whether this process leads: of all replicas one does, by a Lease on the hub.

import { defer, NEVER, type Observable, tap } from 'rxjs';
import { FieldManager } from '../api/names.ts';
import { KubeClient } from '../kube/client.ts';
import { createElection, type Election } from '../kube/lease.ts';
import type { OpenStreams } from '../kube/open-streams.ts';
import { createTransport, type Transport } from '../kube/transport.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AppOptions } from './options.ts';

/** A part of the process that stands for election from its start on, and gives the Lease back when it stops. */
export interface Leadership extends Component {
  /** Campaigns while it is subscribed to. */
  readonly leads$: Observable<boolean>;
  /** Whether the Lease is ours at this very instant. */
  leads(): boolean;
}

export interface Candidacy {
  /** A name that no other life of a process has. */
  readonly identity: string;
  /** The watches of the hub: the Lease, which is looked at all the time, is the first to tell when they may be dead. */
  readonly streams: OpenStreams;
}

/** Stands for election. */
export function leadership(options: AppOptions, { identity, streams }: Candidacy): Leadership {
  let standing: { readonly election: Election; readonly lease: Transport } | undefined;
  return {
    name: 'leadership',
    leads: () => standing?.election.leads ?? false,
    leads$: defer(() => standing?.election.leads$ ?? NEVER).pipe(tap(leadTeller(options.log))),
    async start() {
      const { hub, clock, execEnv } = options;
      // A way to the hub of its own: a Lease that waits behind a thousand other writes is lost.
      const lease = createTransport(hub, { clock, streams, connections: 1, ...(execEnv && { execEnv }) });
      standing = { election: electionOf(options, new KubeClient(lease, FieldManager), identity), lease };
    },
    async stop() {
      try {
        await standing?.election.release();
      } finally {
        await standing?.lease.close();
      }
    },
  };
}

function electionOf({ clock, random, log, settings }: AppOptions, client: KubeClient, identity: string): Election {
  return createElection({
    client,
    clock,
    random,
    namespace: settings.namespace,
    name: FieldManager,
    identity,
    onProblem: (error) => log.warn({ error }, 'the Lease could not be read or written'),
    onHolder: (leader) => {
      if (leader !== identity) log.info({ leads: false, leader }, 'another process leads, and this one is ready to take over');
    },
  });
}

/** Tells when it turns; that nobody leads before the first attempt goes without saying. */
function leadTeller(log: Logger): (leads: boolean) => void {
  let told = false;
  return (leads) => {
    if (leads !== told) log.info({ leads }, leads ? 'this process leads' : 'this process no longer leads');
    told = leads;
  };
}
