// The table of Pods, for statuses that somebody has written; no containers run here.

import type { Table } from '../../../src/kubernetes/kind.ts';
import { AGE_COLUMN, age, column, NAME_COLUMN } from '../../../src/kubernetes/table.ts';
import type { Pod } from './pod-defaults.ts';

export const POD_TABLE: Table = {
  columns: [
    NAME_COLUMN,
    column('Ready', 'The aggregate readiness state of this pod for accepting traffic.'),
    column('Status', 'The aggregate status of the containers in this pod.'),
    column(
      'Restarts',
      'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
    ),
    AGE_COLUMN,
    column('IP', 'podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.', 'wide'),
    column(
      'Node',
      'NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename',
      'wide',
    ),
    column(
      'Nominated Node',
      'nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.',
      'wide',
    ),
    column(
      'Readiness Gates',
      'If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates',
      'wide',
    ),
  ],
  cells: (pod: Pod, now) => {
    const { spec = {}, status = {} } = pod;
    const containers = status.containerStatuses ?? [];
    const ready = containers.filter((each) => each.ready === true && each.state !== undefined && 'running' in each.state).length;
    const restarts = containers.reduce((sum, each) => sum + (each.restartCount ?? 0), 0);
    return [
      pod.metadata.name,
      `${ready}/${spec.containers?.length ?? 0}`,
      phaseOf(pod),
      String(restarts),
      age(pod, now),
      orNone(status.podIPs?.[0]?.ip),
      orNone(spec.nodeName),
      orNone(status.nominatedNodeName),
      readinessGates(pod),
    ];
  },
};

function phaseOf({ metadata, status = {} }: Pod): string {
  const { phase = '', reason } = status;
  if (metadata.deletionTimestamp === undefined) return reason || phase;
  if (reason === 'NodeLost') return 'Unknown';
  return phase === 'Succeeded' || phase === 'Failed' ? reason || phase : 'Terminating';
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const isOpen = (type?: string) => status?.conditions?.find((condition) => condition.type === type)?.status === 'True';
  return `${gates.filter((gate) => isOpen(gate.conditionType)).length}/${gates.length}`;
}

function orNone(text: string | undefined): string {
  return text || '<none>';
}
