// Text that Helm prints after an installation or upgrade of the chart.

/** Template of NOTES.txt. */
export const NOTES = `Purser {{ $.Chart.AppVersion }} is installed in namespace {{ $.Release.Namespace }}.

Wait until the pods are ready:
{{- range ternary (list "purser-controller" "purser-facade") (list "purser") $.Values.apart }}

  kubectl -n {{ $.Release.Namespace }} rollout status deployment/{{ . }}
{{- end }}

Register a cluster, then create a ManagedToken:

  {{ $.Values.repositoryURL }}/docs/operating.md#register-a-cluster
  {{ $.Values.repositoryURL }}/deploy/samples/ci-deployer.yaml
{{- if $.Values.facade.ingress.enabled }}

Callers reach the façade at https://{{ $.Values.facade.ingress.host }}. The façade's certificate must include this name.
{{- end }}
{{- if not $.Values.admission.enabled }}

Warning: the admission policies are disabled, so users who may update Clusters can also change the addresses and credentials of Clusters.
To enable the policies, set admission.enabled to true.
{{- end }}
{{- if eq $.Values.image.repository "purser" }}

Warning: image.repository is not set. Set it to the repository of your image.
{{- end }}
`;
