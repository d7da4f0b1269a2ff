// Converts an object of a kustomization to a template of the Helm chart, with values and conditions.

import { Document, isMap } from 'yaml';

/** Kubernetes object as parsed from YAML. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Returns the template of an object, wrapped in the given conditions, those of its kind, and the loop that repeats it. */
export function toConditionalTemplate(object: Manifest, conditions: readonly string[]): string {
  const all = [...conditions, ...(KIND_CONDITIONS[object.kind] ?? []), ...(belongsToOwnCA(object) ? [OWN_CA] : [])];
  const ifAll = all.length === 1 ? `if ${all[0]}` : `if and ${all.map((each) => `(${each})`).join(' ')}`;
  const openings = [...(all.length > 0 ? [ifAll] : []), ...toLoops(object)];
  const lines = (tags: readonly string[]) => tags.map((tag) => `{{- ${tag} }}\n`).join('');
  return `${lines(openings)}---\n${toTemplate(object)}${lines(openings.map(() => 'end'))}`;
}

/** Returns the template of an object without conditions. */
export function toTemplate(object: Manifest): string {
  const placeholders = new Placeholders();
  const document = new Document(replaceNames(object, placeholders));
  INSERTIONS[object.kind]?.(document, placeholders, object);
  return placeholders.fill(document.toString({ lineWidth: 0 }).replaceAll('{{', '{{ "{{" }}'));
}

/** Returns a list with the loop over the values for which the chart repeats an object; empty for an object that is not repeated. */
function toLoops({ kind, metadata }: Manifest): readonly string[] {
  if (kind === 'ServiceAccount' && metadata.name === FEDERATED_ACCOUNT) return [`range $serviceAccount := ${FEDERATED_VALUES}`];
  const named = NAMED_NAMESPACES.get(metadata.namespace);
  return named === undefined ? [] : [`range $namespace := ${named}`];
}

const KIND_CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  CustomResourceDefinition: ['$.Values.crds.install'],
  NetworkPolicy: ['$.Values.networkPolicy.enabled'],
};

/** Condition for the chart's own CA, which is not needed if an issuer is configured. */
const OWN_CA = 'not $.Values.certManager.issuerRef';

function belongsToOwnCA({ kind, metadata }: Manifest): boolean {
  return kind === 'Issuer' || (kind === 'Certificate' && metadata.name !== FACADE_CERTIFICATE);
}

const FACADE_CERTIFICATE = 'purser-facade';
/** Example service account for federation in the kustomizations. */
const FEDERATED_ACCOUNT = 'purser-federated';
/** Chart expression for the configured service accounts for federation. */
const FEDERATED_VALUES = '$.Values.federation.serviceAccounts';
const FEDERATION = 'purser-federation';
const OWN_NAMESPACE = 'purser-system';
/** Names in the kustomizations, with the chart expressions that replace them. */
const NAMES: readonly (readonly [string, string])[] = [
  [OWN_NAMESPACE, '{{ $.Release.Namespace }}'],
  ['purser-facade-tls', '{{ $.Values.facade.tlsSecretName }}'],
  ['https://git.example.com/purser/blob/main', '{{ $.Values.repositoryURL }}'],
];
/** Example namespaces of the kustomizations, with the chart expressions that list the configured namespaces. */
const NAMED_NAMESPACES: ReadonlyMap<unknown, string> = new Map([
  ['team-a', '$.Values.namespaces'],
  // The role for Purser's own namespace is part of the base.
  ['fleet', 'without (index $.Values.options "credential-namespaces" | nospace | splitList "," | uniq) "" $.Release.Namespace'],
]);
/** Arguments of the kustomizations that the chart derives from its values. */
const OPTIONS_BY_VALUES: ReadonlySet<unknown> = new Set([
  '--namespaces=team-a',
  '--credential-namespaces=purser-system,fleet',
  '--install-crds',
]);

/** Placeholders for template expressions, which YAML cannot contain. fill() replaces them in the serialized text. */
class Placeholders {
  readonly #fillings: string[] = [];

  /** Returns a placeholder for a value or a part of one. */
  value(filling: string): string {
    return `VALUE-${this.#fillings.push(filling) - 1}-`;
  }

  /**
   * Returns a placeholder for lines: a key of an object, with the value null, or an item of a list. In the lines, INDENT stands for the
   * indentation of the placeholder, and DEEPER for that of a nested value.
   */
  lines(...filling: readonly string[]): string {
    return `LINES-${this.#fillings.push(filling.join('\n')) - 1}-`;
  }

  /** Returns a placeholder for the keys or items that a value of the chart adds. */
  more(value: string): string {
    return this.lines(`{{- with ${value} }}`, '{{- toYaml . | nindent INDENT }}', '{{- end }}');
  }

  /** Returns a placeholder for a field that is present only if its value is set. */
  optional(field: string, value: string): string {
    return this.lines(`{{- with ${value} }}`, `${field}:`, '{{- toYaml . | nindent DEEPER }}', '{{- end }}');
  }

  fill(text: string): string {
    const filled = text.replace(/^( *)(?:- )?LINES-(\d+)-(?:: null)?$/gm, (_, indent: string, index: string) =>
      this.#filling(index)
        .replaceAll('DEEPER', String(indent.length + 2))
        .replaceAll('INDENT', String(indent.length))
        .replace(/^/gm, indent),
    );
    return filled.replace(/VALUE-(\d+)-/g, (_, index: string) => this.#filling(index));
  }

  #filling(index: string): string {
    return this.#fillings[Number(index)] ?? '';
  }
}

/** Replaces names with chart expressions at all depths. */
function replaceNames(value: unknown, placeholders: Placeholders): unknown {
  if (NAMED_NAMESPACES.has(value)) return placeholders.value('{{ $namespace }}');
  if (value === FEDERATED_ACCOUNT) return placeholders.value('{{ $serviceAccount }}');
  if (typeof value === 'string') {
    const replace = (text: string, [name, filling]: readonly [string, string]) =>
      text.includes(name) ? text.replaceAll(name, placeholders.value(filling)) : text;
    return NAMES.reduce(replace, value);
  }
  if (Array.isArray(value)) return value.filter((item) => !OPTIONS_BY_VALUES.has(item)).map((item) => replaceNames(item, placeholders));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceNames(item, placeholders)]));
}

type Insertion = (document: Document, placeholders: Placeholders, object: Manifest) => void;

/** Functions that insert values of the chart, by kind. */
const INSERTIONS: Readonly<Record<string, Insertion>> = {
  // If Helm deleted the definitions, Kubernetes would delete all Clusters, ManagedTokens and Secrets of ManagedTokens.
  CustomResourceDefinition: (document) => document.setIn(['metadata', 'annotations', 'helm.sh/resource-policy'], 'keep'),
  ClusterRoleBinding: (document, placeholders) => {
    if (document.getIn(['subjects', 0, 'kind']) !== 'Group') return;
    document.setIn(['subjects', 0, 'name'], placeholders.value('system:serviceaccounts:{{ $.Values.monitoring.namespace }}'));
  },
  Role: (document, placeholders, { metadata }) => {
    if (metadata.name !== FEDERATION) return;
    const names = placeholders.lines(`{{- toYaml ${FEDERATED_VALUES} | nindent INDENT }}`);
    document.setIn(['rules', 0, 'resourceNames'], { [names]: null });
  },
  RoleBinding: (document, placeholders, { metadata }) => {
    const isForBothParts = metadata.name === 'purser-credentials' || metadata.name === FEDERATION;
    if (metadata.namespace === OWN_NAMESPACE && metadata.name !== FEDERATION) return;
    if (isForBothParts) document.setIn(['subjects'], { [placeholders.lines(BOTH_SUBJECTS)]: null });
    else {
      const part = metadata.name.startsWith('purser-facade') ? 'purser-facade' : 'purser-controller';
      document.setIn(['subjects', 0, 'name'], placeholders.value(`{{ if $.Values.apart }}${part}{{ else }}purser{{ end }}`));
    }
  },
  // Only the Service of the façade is configurable; Prometheus on the hub uses the other one, purser-metrics.
  Service: (document, placeholders, { metadata }) => {
    if (metadata.name !== 'purser') return;
    document.setIn(['metadata', placeholders.optional('annotations', '$.Values.facade.service.annotations')], null);
    document.setIn(['spec', placeholders.lines('{{- with $.Values.facade.service.type }}', 'type: {{ . }}', '{{- end }}')], null);
  },
  Certificate: (document, placeholders, { metadata }) => {
    if (metadata.name !== FACADE_CERTIFICATE) return;
    document.addIn(['spec', 'dnsNames'], placeholders.more('$.Values.certManager.dnsNames'));
    const own = '(dict "kind" "Issuer" "name" "purser-facade")';
    const issuer = `{{- toYaml ($.Values.certManager.issuerRef | default ${own}) | nindent INDENT }}`;
    document.setIn(['spec', 'issuerRef'], { [placeholders.lines(issuer)]: null });
  },
  // The annotations are for the service accounts that Purser runs as, not for those for federation.
  ServiceAccount: (document, placeholders, { metadata }) => {
    if (metadata.name === FEDERATED_ACCOUNT) return;
    document.setIn(['metadata', placeholders.optional('annotations', '$.Values.serviceAccount.annotations')], null);
  },
  Ingress: (document, placeholders) => {
    document.deleteIn(['metadata', 'annotations']);
    document.setIn(['metadata', placeholders.optional('annotations', '$.Values.facade.ingress.annotations')], null);
    document.setIn(['spec', 'ingressClassName'], placeholders.value('{{ $.Values.facade.ingress.className }}'));
    document.setIn(['spec', 'rules', 0, 'host'], placeholders.value('{{ $.Values.facade.ingress.host }}'));
  },
  ServiceMonitor: setMonitoringLabels,
  PrometheusRule: setMonitoringLabels,
  NetworkPolicy: (document, placeholders) => {
    const monitoring = ['spec', 'ingress', 1, 'from', 0, 'namespaceSelector', 'matchLabels', 'kubernetes.io/metadata.name'];
    document.setIn(monitoring, placeholders.value('{{ $.Values.monitoring.namespace }}'));
    const ports = placeholders.lines('{{- range $.Values.networkPolicy.clusterPorts }}', '- port: {{ . }}', '{{- end }}');
    document.setIn(['spec', 'egress', 1, 'ports'], { [ports]: null });
  },
  Deployment: (document, placeholders) => {
    document.setIn(['spec', 'replicas'], placeholders.value('{{ $.Values.replicas }}'));
    document.setIn(['spec', 'template', 'metadata', placeholders.optional('annotations', '$.Values.podAnnotations')], null);
    document.setIn(['spec', 'template', 'metadata', 'labels', placeholders.more('$.Values.podLabels')], null);
    const pod = ['spec', 'template', 'spec'];
    setAffinity(document, [...pod, 'affinity'], placeholders);
    document.addIn([...pod, 'volumes'], placeholders.more('$.Values.extraVolumes'));
    setContainer(document, [...pod, 'containers', 0], placeholders);
    for (const field of ['imagePullSecrets', 'nodeSelector', 'tolerations']) {
      document.setIn([...pod, placeholders.optional(field, `$.Values.${field}`)], null);
    }
  },
};

/** Subjects of a binding for the service accounts of the controller and of the façade. */
const BOTH_SUBJECTS = `{{- range ternary (list "purser-controller" "purser-facade") (list "purser") $.Values.apart }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: {{ $.Release.Namespace }}
{{- end }}`;

function setMonitoringLabels(document: Document, placeholders: Placeholders): void {
  document.setIn(['metadata', 'labels', placeholders.more('$.Values.monitoring.labels')], null);
}

type Path = readonly (string | number)[];

function setContainer(document: Document, path: Path, placeholders: Placeholders): void {
  const image = '{{ $.Values.image.repository }}{{ with $.Values.image.digest }}@{{ . }}{{ else }}:{{ $.Values.image.tag }}{{ end }}';
  document.setIn([...path, 'image'], placeholders.value(image));
  document.setIn([...path, 'imagePullPolicy'], placeholders.value('{{ $.Values.image.pullPolicy }}'));
  document.setIn([...path, 'resources'], { [placeholders.lines('{{- toYaml $.Values.resources | nindent INDENT }}')]: null });
  document.addIn([...path, 'args'], placeholders.lines(OPTIONS));
  document.addIn([...path, 'env'], placeholders.more('$.Values.env'));
  document.addIn([...path, 'volumeMounts'], placeholders.more('$.Values.extraVolumeMounts'));
}

/** Replaces the affinity of the base if the value is set. */
function setAffinity(document: Document, path: Path, placeholders: Placeholders): void {
  const own = document.getIn(path);
  const given = placeholders.lines('{{- with $.Values.affinity }}', '{{- toYaml . | nindent INDENT }}', '{{- else }}');
  document.setIn(path, { [given]: null, ...(isMap(own) ? own.toJSON() : {}), [placeholders.lines('{{- end }}')]: null });
}

/** Arguments from values. Helm parses numbers as float64, and prints large ones with an exponent unless converted. */
const OPTIONS = `{{- with $.Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- with $.Values.facade.url }}
- --facade-url={{ . }}
{{- end }}
{{- range $name, $value := $.Values.options }}
{{- $text := kindIs "float64" $value | ternary (int64 $value) $value }}
- {{ kindIs "bool" $value | ternary (printf "--%s" $name) (printf "--%s=%v" $name $text) | quote }}
{{- end }}`;
