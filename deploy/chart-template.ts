// One object as a template of the Helm chart: where values go, and under which conditions it is there.

import { Document } from 'yaml';

/** An object as YAML has it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The template of an object under conditions of the chart and those of its kind. */
export function underConditions(object: Manifest, conditions: readonly string[]): string {
  const all = [...conditions, ...(KIND_CONDITIONS[object.kind] ?? []), ...(isOwnAuthority(object) ? [OWN_AUTHORITY] : [])];
  const ifAll = all.length === 1 ? `if ${all[0]}` : `if and ${all.map((each) => `(${each})`).join(' ')}`;
  const named = NAMED_NAMESPACES.get(object.metadata.namespace);
  const openings = [...(all.length > 0 ? [ifAll] : []), ...(named === undefined ? [] : [`range $namespace := ${named}`])];
  const lines = (tags: readonly string[]) => tags.map((tag) => `{{- ${tag} }}\n`).join('');
  return `${lines(openings)}---\n${templateOf(object)}${lines(openings.map(() => 'end'))}`;
}

/** The template of an object without its conditions. */
export function templateOf(object: Manifest): string {
  const holes = new Holes();
  const document = new Document(withNames(object, holes));
  POINTS[object.kind]?.(document, holes, object);
  return holes.fill(document.toString({ lineWidth: 0 }).replaceAll('{{', '{{ "{{" }}'));
}

const KIND_CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  CustomResourceDefinition: ['$.Values.crds.install'],
  NetworkPolicy: ['$.Values.networkPolicy.enabled'],
};

/** Whoever names an issuer needs no authority of Purser's own. */
const OWN_AUTHORITY = 'not $.Values.certManager.issuerRef';

function isOwnAuthority({ kind, metadata }: Manifest): boolean {
  return kind === 'Issuer' || (kind === 'Certificate' && metadata.name !== FACADE_CERTIFICATE);
}

const FACADE_CERTIFICATE = 'purser-facade';
const OWN_NAMESPACE = 'purser-system';
/** Names that are values of the chart. */
const NAMES: readonly (readonly [string, string])[] = [
  [OWN_NAMESPACE, '{{ $.Release.Namespace }}'],
  ['purser-facade-tls', '{{ $.Values.facade.tlsSecretName }}'],
];
/** Namespaces that stand for all that are named, in kustomizations that are examples; with what the values name instead. */
const NAMED_NAMESPACES: ReadonlyMap<unknown, string> = new Map([
  ['team-a', '$.Values.namespaces'],
  // What Purser may read in its own is said already.
  ['fleet', 'without (index $.Values.options "credential-namespaces" | nospace | splitList "," | uniq) "" $.Release.Namespace'],
]);
/** Options of kustomizations that the chart has among its values. */
const OPTIONS_BY_VALUES: ReadonlySet<unknown> = new Set([
  '--namespaces=team-a',
  '--credential-namespaces=purser-system,fleet',
  '--install-crds',
]);

/** Holes in an object for what YAML cannot say, filled once it is text. */
class Holes {
  readonly #fillings: string[] = [];

  /** A hole for a value, or for a part of one. */
  value(filling: string): string {
    return `HOLE-${this.#fillings.push(filling) - 1}-`;
  }

  /** A hole for lines: the only key of an object, or an item of a list. INDENT stands for how far they are indented. */
  lines(...filling: readonly string[]): string {
    return `LINES-${this.#fillings.push(filling.join('\n')) - 1}-`;
  }

  /** A hole for what a value adds: more keys of an object, or more items of a list. */
  more(value: string): string {
    return this.lines(`{{- with ${value} }}`, '{{- toYaml . | nindent INDENT }}', '{{- end }}');
  }

  /** A hole for a field that is there when its value is: one more key of an object. */
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
    return filled.replace(/HOLE-(\d+)-/g, (_, index: string) => this.#filling(index));
  }

  #filling(index: string): string {
    return this.#fillings[Number(index)] ?? '';
  }
}

/** Puts values in the place of names, wherever they are. */
function withNames(value: unknown, holes: Holes): unknown {
  if (NAMED_NAMESPACES.has(value)) return holes.value('{{ $namespace }}');
  if (typeof value === 'string') {
    const replace = (text: string, [name, filling]: readonly [string, string]) =>
      text.includes(name) ? text.replaceAll(name, holes.value(filling)) : text;
    return NAMES.reduce(replace, value);
  }
  if (Array.isArray(value)) return value.filter((item) => !OPTIONS_BY_VALUES.has(item)).map((item) => withNames(item, holes));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNames(item, holes)]));
}

type Point = (document: Document, holes: Holes, object: Manifest) => void;

/** Where the values of the chart go, by kind. */
const POINTS: Readonly<Record<string, Point>> = {
  // Without its definition every ManagedToken would go, and every Secret with it.
  CustomResourceDefinition: (document) => document.setIn(['metadata', 'annotations', 'helm.sh/resource-policy'], 'keep'),
  ClusterRoleBinding: (document, holes) => {
    if (document.getIn(['subjects', 0, 'kind']) !== 'Group') return;
    document.setIn(['subjects', 0, 'name'], holes.value('system:serviceaccounts:{{ $.Values.monitoring.namespace }}'));
  },
  RoleBinding: (document, holes, { metadata }) => {
    if (metadata.namespace === OWN_NAMESPACE) return;
    if (metadata.name === 'purser-credentials') document.setIn(['subjects'], { [holes.lines(BOTH_PARTS)]: null });
    else document.setIn(['subjects', 0, 'name'], holes.value('{{ if $.Values.apart }}purser-controller{{ else }}purser{{ end }}'));
  },
  // The one of the façade; nobody outside of the hub reads metrics.
  Service: (document, holes, { metadata }) => {
    if (metadata.name !== 'purser') return;
    document.setIn(['metadata', holes.optional('annotations', '$.Values.facade.service.annotations')], null);
    document.setIn(['spec', holes.lines('{{- with $.Values.facade.service.type }}', 'type: {{ . }}', '{{- end }}')], null);
  },
  Certificate: (document, holes, { metadata }) => {
    if (metadata.name !== FACADE_CERTIFICATE) return;
    document.addIn(['spec', 'dnsNames'], holes.more('$.Values.certManager.dnsNames'));
    const own = '(dict "kind" "Issuer" "name" "purser-facade")';
    const issuer = `{{- toYaml ($.Values.certManager.issuerRef | default ${own}) | nindent INDENT }}`;
    document.setIn(['spec', 'issuerRef'], { [holes.lines(issuer)]: null });
  },
  ServiceMonitor: setMonitoringLabels,
  PrometheusRule: setMonitoringLabels,
  NetworkPolicy: (document, holes) => {
    const monitoring = ['spec', 'ingress', 1, 'from', 0, 'namespaceSelector', 'matchLabels', 'kubernetes.io/metadata.name'];
    document.setIn(monitoring, holes.value('{{ $.Values.monitoring.namespace }}'));
    const ports = holes.lines('{{- range $.Values.networkPolicy.clusterPorts }}', '- port: {{ . }}', '{{- end }}');
    document.setIn(['spec', 'egress', 1, 'ports'], { [ports]: null });
  },
  Deployment: (document, holes) => {
    document.setIn(['spec', 'replicas'], holes.value('{{ $.Values.replicas }}'));
    document.setIn(['spec', 'template', 'metadata', holes.optional('annotations', '$.Values.podAnnotations')], null);
    const pod = ['spec', 'template', 'spec'];
    setContainer(document, [...pod, 'containers', 0], holes);
    for (const field of ['imagePullSecrets', 'nodeSelector', 'tolerations']) {
      document.setIn([...pod, holes.optional(field, `$.Values.${field}`)], null);
    }
  },
};

const BOTH_PARTS = `{{- range ternary (list "purser-controller" "purser-facade") (list "purser") $.Values.apart }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: {{ $.Release.Namespace }}
{{- end }}`;

function setMonitoringLabels(document: Document, holes: Holes): void {
  document.setIn(['metadata', 'labels', holes.more('$.Values.monitoring.labels')], null);
}

type Path = readonly (string | number)[];

function setContainer(document: Document, path: Path, holes: Holes): void {
  const image = '{{ $.Values.image.repository }}{{ with $.Values.image.digest }}@{{ . }}{{ else }}:{{ $.Values.image.tag }}{{ end }}';
  document.setIn([...path, 'image'], holes.value(image));
  document.setIn([...path, 'imagePullPolicy'], holes.value('{{ $.Values.image.pullPolicy }}'));
  document.setIn([...path, 'resources'], { [holes.lines('{{- toYaml $.Values.resources | nindent INDENT }}')]: null });
  document.addIn([...path, 'args'], holes.lines(OPTIONS));
  document.addIn([...path, 'env'], holes.more('$.Values.env'));
}

/** Options without a value are given as true. Numbers of a file of values come with a fraction, and large ones with an exponent. */
const OPTIONS = `{{- with $.Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- range $name, $value := $.Values.options }}
{{- $text := kindIs "float64" $value | ternary (int64 $value) $value }}
- {{ kindIs "bool" $value | ternary (printf "--%s" $name) (printf "--%s=%v" $name $text) | quote }}
{{- end }}`;
