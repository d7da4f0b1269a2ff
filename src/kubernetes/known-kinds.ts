// Built-in kinds of Kubernetes 1.36, including those that Purser does not serve: kube-apiserver has different error messages for built-in
// and unknown kinds.

/** Returns whether Kubernetes has this built-in kind. Lists are also kinds. */
export function isKnownKind(group: string, version: string, kind: string): boolean {
  return KNOWN_KINDS.has(`${group === '' ? version : `${group}/${version}`} ${kind}`);
}

/** Built-in kinds by apiVersion. A star marks a kind that also has a list kind. */
const KINDS: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/v1':
    'MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding* MutatingWebhookConfiguration* ValidatingAdmissionPolicy* ValidatingAdmissionPolicyBinding* ValidatingWebhookConfiguration*',
  'admissionregistration.k8s.io/v1alpha1': 'MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding*',
  'admissionregistration.k8s.io/v1beta1': 'MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding*',
  'apps/v1': 'ControllerRevision* DaemonSet* Deployment* ReplicaSet* StatefulSet*',
  'authentication.k8s.io/v1': 'SelfSubjectReview TokenRequest TokenReview',
  'authorization.k8s.io/v1': 'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  'autoscaling/v1': 'HorizontalPodAutoscaler* Scale',
  'autoscaling/v2': 'HorizontalPodAutoscaler*',
  'batch/v1': 'CronJob* Job*',
  'certificates.k8s.io/v1': 'CertificateSigningRequest*',
  'coordination.k8s.io/v1': 'Lease*',
  'coordination.k8s.io/v1alpha2': 'LeaseCandidate*',
  'coordination.k8s.io/v1beta1': 'LeaseCandidate*',
  'discovery.k8s.io/v1': 'EndpointSlice*',
  'events.k8s.io/v1': 'Event*',
  'flowcontrol.apiserver.k8s.io/v1': 'FlowSchema* PriorityLevelConfiguration*',
  'internal.apiserver.k8s.io/v1alpha1': 'StorageVersion*',
  'networking.k8s.io/v1': 'IPAddress* Ingress* IngressClass* NetworkPolicy* ServiceCIDR*',
  'networking.k8s.io/v1beta1': 'IPAddress* ServiceCIDR*',
  'node.k8s.io/v1': 'RuntimeClass*',
  'policy/v1': 'Eviction PodDisruptionBudget*',
  'rbac.authorization.k8s.io/v1': 'ClusterRole* ClusterRoleBinding* Role* RoleBinding*',
  'resource.k8s.io/v1': 'DeviceClass* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'resource.k8s.io/v1alpha3': 'DeviceTaintRule* ResourcePoolStatusRequest*',
  'resource.k8s.io/v1beta1': 'DeviceClass* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'resource.k8s.io/v1beta2': 'DeviceClass* DeviceTaintRule* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'scheduling.k8s.io/v1': 'PriorityClass*',
  'storage.k8s.io/v1': 'CSIDriver* CSINode* CSIStorageCapacity* StorageClass* VolumeAttachment* VolumeAttributesClass*',
  'storage.k8s.io/v1beta1': 'VolumeAttributesClass*',
  v1: 'Binding ComponentStatus* ConfigMap* Endpoints* Event* LimitRange* Namespace* Node* NodeProxyOptions PersistentVolume* PersistentVolumeClaim* Pod* PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions PodProxyOptions PodStatusResult PodTemplate* RangeAllocation ReplicationController* ResourceQuota* Secret* SerializedReference Service* ServiceAccount* ServiceProxyOptions',
};

const KNOWN_KINDS: ReadonlySet<string> = new Set(
  Object.entries(KINDS).flatMap(([apiVersion, kinds]) => expandNames(kinds).map((name) => `${apiVersion} ${name}`)),
);

function expandNames(kinds: string): readonly string[] {
  return kinds.split(' ').flatMap((name) => (name.endsWith('*') ? [name.slice(0, -1), `${name.slice(0, -1)}List`] : [name]));
}
