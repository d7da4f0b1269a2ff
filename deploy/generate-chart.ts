// Generates the templates of the Helm chart from the kustomizations, so that the two cannot differ.
// Run by `npm run generate:chart`; needs kubectl on the PATH.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { NOTES } from './chart-notes.ts';
import { type Manifest, toConditionalTemplate, toTemplate } from './chart-template.ts';

/** Renders the kustomization at a path in this folder as YAML. */
export type Kustomize = (path: string) => string;

/** Returns the text of each template by file name. Omits the Namespace, which must exist before Helm stores a release in it. */
export function generateTemplates(kustomize: Kustomize): ReadonlyMap<string, string> {
  const render = (path: string) =>
    parseAllDocuments(kustomize(path))
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind }) => kind !== 'Namespace');
  const base = toRendering(render('base'));
  const variants = VARIANTS.map(({ path, condition }) => ({ condition, rendering: toRendering(render(path)) }));
  const files = new Map<string, string>();
  const add = (object: Manifest, conditions: readonly string[]) => {
    const file = `${object.kind.toLowerCase()}.yaml`;
    files.set(file, `${files.get(file) ?? BANNER}${toConditionalTemplate(object, conditions)}`);
  };
  for (const object of base.values()) {
    add(
      object,
      toExclusions(object, variants, ({ rendering }) => !holds(rendering, object)),
    );
  }
  for (const { condition, rendering } of variants) {
    const others = variants.filter((variant) => variant.condition !== condition);
    for (const object of rendering.values()) {
      if (holds(base, object)) continue;
      const isRemoved = (other: Variant) => base.has(identityOf(object)) && !other.rendering.has(identityOf(object));
      add(object, [condition, ...toExclusions(object, others, isRemoved)]);
    }
  }
  files.set('NOTES.txt', NOTES);
  for (const { path, condition } of ADDITIONS) for (const object of render(path)) add(object, [condition]);
  return files;
}

const BANNER = '# Generated from the kustomizations by `npm run generate:chart`; do not edit.\n';

/** Kustomizations that add, replace or remove objects of the base if their condition is true. */
const VARIANTS = [
  { path: 'overlays/apart', condition: '$.Values.apart' },
  { path: 'overlays/namespaces', condition: '$.Values.namespaces' },
  { path: 'overlays/credential-namespaces', condition: '(index $.Values.options "credential-namespaces")' },
  { path: 'overlays/federation', condition: '$.Values.federation.serviceAccounts' },
  { path: 'overlays/install-crds', condition: '(index $.Values.options "install-crds")' },
] as const;

/** Kustomizations that only add objects. */
const ADDITIONS = [
  {
    path: 'components/admission',
    condition:
      'and $.Values.admission.enabled ($.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")',
  },
  { path: 'components/cert-manager', condition: '$.Values.certManager.enabled' },
  { path: 'components/ingress', condition: '$.Values.facade.ingress.enabled' },
  { path: 'components/monitoring', condition: '$.Values.monitoring.enabled' },
] as const;

/** Objects of a kustomization, by identity. */
type Rendering = ReadonlyMap<string, Manifest>;

interface Variant {
  readonly condition: string;
  readonly rendering: Rendering;
}

function toRendering(objects: readonly Manifest[]): Rendering {
  return new Map(objects.map((object) => [identityOf(object), object]));
}

function identityOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Returns true if the rendering has this object with the same template. */
function holds(rendering: Rendering, object: Manifest): boolean {
  const same = rendering.get(identityOf(object));
  return same !== undefined && toTemplate(same) === toTemplate(object);
}

function toExclusions(object: Manifest, variants: readonly Variant[], isExcluded: (variant: Variant) => boolean): readonly string[] {
  return variants.filter(isExcluded).map(({ condition }) => `not ${condition}`);
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, 'chart/templates');
  const kustomize: Kustomize = (path) => execFileSync('kubectl', ['kustomize', join(import.meta.dirname, path)], { encoding: 'utf8' });
  const files = generateTemplates(kustomize);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}
