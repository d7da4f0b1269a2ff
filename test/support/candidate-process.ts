// Candidate for a Lease as a separate process, for tests that pause it: `node candidate-process.ts KUBECONFIG NAMESPACE IDENTITY`.
// Sends a message to its parent each time that it acquires or loses leadership.

import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createElection } from '../../src/kube/lease.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';

const [kubeconfig = '', namespace = '', identity = ''] = process.argv.slice(2);
const client = new KubeClient(createTransport(await loadKubeConfig(kubeconfig), { clock }), 'tests');
const election = createElection({ client, namespace, name: 'contested', identity, clock, random: Math.random });
election.leads$.subscribe((leads) => process.send?.(leads));
process.on('disconnect', () => process.exit());
