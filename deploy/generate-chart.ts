// Development tool: the templates of the Helm chart, made from what kustomize makes, so that the two cannot differ.
// Run it with `npm run generate:chart`; kubectl must be on the PATH.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type Manifest, templateOf, underConditions } from './chart-template.ts';

/** Makes the objects of a kustomization, by its path in this folder, as YAML. */
export type Kustomize = (path: string) => string;

/** The text of every template of the chart, by its name. Helm keeps its records in the namespace: that must be there before. */
export function chartTemplates(kustomize: Kustomize): ReadonlyMap<string, string> {
  const render = (path: string) =>
    parseAllDocuments(kustomize(path))
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind }) => kind !== 'Namespace');
  const base = renderingOf(render('base'));
  const variants = VARIANTS.map(({ path, condition }) => ({ condition, rendering: renderingOf(render(path)) }));
  const files = new Map<string, string>();
  const add = (object: Manifest, conditions: readonly string[]) => {
    const file = `${object.kind.toLowerCase()}.yaml`;
    files.set(file, `${files.get(file) ?? BANNER}${underConditions(object, conditions)}`);
  };
  for (const object of base.values()) {
    add(
      object,
      exclusions(object, variants, ({ rendering }) => !holds(rendering, object)),
    );
  }
  for (const { condition, rendering } of variants) {
    const others = variants.filter((variant) => variant.condition !== condition);
    for (const object of rendering.values()) {
      if (holds(base, object)) continue;
      const isRemoved = (other: Variant) => base.has(identityOf(object)) && !other.rendering.has(identityOf(object));
      add(object, [condition, ...exclusions(object, others, isRemoved)]);
    }
  }
  for (const { path, condition } of ADDITIONS) for (const object of render(path)) add(object, [condition]);
  return files;
}

const BANNER = '# Made from the kustomizations by `npm run generate:chart`; do not edit.\n';

/** What is put in the place of objects of the base. */
const VARIANTS = [
  { path: 'overlays/apart', condition: '$.Values.apart' },
  { path: 'overlays/namespaces', condition: '$.Values.namespaces' },
  { path: 'overlays/credential-namespaces', condition: '(index $.Values.options "credential-namespaces")' },
  { path: 'overlays/install-crds', condition: '(index $.Values.options "install-crds")' },
] as const;

/** What only comes on top. */
const ADDITIONS = [
  {
    path: 'components/admission',
    condition:
      'and $.Values.admission.enabled ($.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")',
  },
  { path: 'components/cert-manager', condition: '$.Values.certManager.enabled' },
  { path: 'components/monitoring', condition: '$.Values.monitoring.enabled' },
] as const;

/** The objects of a kustomization by their identity. */
type Rendering = ReadonlyMap<string, Manifest>;

interface Variant {
  readonly condition: string;
  readonly rendering: Rendering;
}

function renderingOf(objects: readonly Manifest[]): Rendering {
  return new Map(objects.map((object) => [identityOf(object), object]));
}

function identityOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Whether the object, once values are put in, is one of these. */
function holds(rendering: Rendering, object: Manifest): boolean {
  const same = rendering.get(identityOf(object));
  return same !== undefined && templateOf(same) === templateOf(object);
}

function exclusions(object: Manifest, variants: readonly Variant[], isExcluded: (variant: Variant) => boolean): readonly string[] {
  return variants.filter(isExcluded).map(({ condition }) => `not ${condition}`);
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, 'chart/templates');
  const kustomize: Kustomize = (path) => execFileSync('kubectl', ['kustomize', join(import.meta.dirname, path)], { encoding: 'utf8' });
  const files = chartTemplates(kustomize);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}
