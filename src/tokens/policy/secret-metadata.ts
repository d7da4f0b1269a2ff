// Labels, annotations and owner of a token's Secret. What others put there stays, what the spec no longer asks for goes.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Annotation, Label, LabelValue, TokensGroup, Version } from '../../api/names.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import { isOutputLabel, outputLabels } from '../outputs/outputs.ts';
import { recordAnnotations, type TokenRecord } from './record.ts';

type Texts = Readonly<Record<string, string>>;
type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];

/** What a Secret's metadata says of ours. */
export type TokenMetadata = Required<Pick<ObjectMeta, 'labels' | 'annotations' | 'ownerReferences'>>;

/** Returns the metadata that the Secret needs; `existing` is the present metadata, `digests` the value of `outputsDigests`. */
export function desiredMetadata(token: ManagedToken, record: TokenRecord, digests: string, existing: ObjectMeta = {}): TokenMetadata {
  const { labels = {}, annotations = {}, outputs } = token.spec.secret;
  const template = { labels: unreserved(labels), annotations: unreserved(annotations) };
  const dropped = parseTemplate(existing.annotations?.[Annotation.template]);
  return {
    labels: {
      ...foreign(existing.labels, dropped.labels),
      ...template.labels,
      [Label.managedBy]: LabelValue.managedBy,
      ...outputLabels(outputs),
    },
    annotations: {
      ...foreign(existing.annotations, dropped.annotations),
      ...template.annotations,
      ...templateAnnotation(template),
      ...recordAnnotations(record, token),
      [Annotation.outputsDigest]: digests,
    },
    ownerReferences: [...(existing.ownerReferences ?? []).filter(({ uid }) => uid !== token.metadata.uid), ownerReference(token)],
  };
}

/** Whether a Secret has the metadata that it should have. */
export function hasMetadata(existing: ObjectMeta, { labels, annotations, ownerReferences }: TokenMetadata): boolean {
  const owners = existing.ownerReferences ?? [];
  return (
    sameTexts(existing.labels ?? {}, labels) &&
    sameTexts(existing.annotations ?? {}, annotations) &&
    owners.length === ownerReferences.length &&
    ownerReferences.every((wanted) => owners.some((owner) => sameOwner(owner, wanted)))
  );
}

/** Whether the Secret belongs to this ManagedToken and has no other controller. */
export function isOwnedBy({ ownerReferences = [] }: ObjectMeta, { metadata }: ManagedToken): boolean {
  const controllers = ownerReferences.filter(({ controller }) => controller);
  return (
    metadata.uid !== undefined &&
    ownerReferences.some(({ uid }) => uid === metadata.uid) &&
    controllers.every(({ uid }) => uid === metadata.uid)
  );
}

/** Whether a label or annotation is not for the spec to set: it means something to Kubernetes, Argo CD or Purser. */
export function isReserved(key: string): boolean {
  const [prefix = '', name] = key.toLowerCase().split('/');
  return name !== undefined && RESERVED.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}

const RESERVED = ['kubernetes.io', 'k8s.io', 'argocd.argoproj.io', 'purser.dev'];

function unreserved(texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).filter(([key]) => !isReserved(key)));
}

/** What neither this nor an earlier version of Purser has put there, nor the spec, which has `dropped` it. */
function foreign(texts: Texts = {}, dropped: readonly string[]): Texts {
  const isForeign = (key: string) => !key.startsWith(`${TokensGroup}/`) && !isOutputLabel(key) && !dropped.includes(key);
  return Object.fromEntries(Object.entries(texts).filter(([key]) => isForeign(key)));
}

interface TemplateKeys {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

function templateAnnotation({ labels, annotations }: { readonly labels: Texts; readonly annotations: Texts }): Texts {
  const keys: TemplateKeys = { labels: Object.keys(labels).sort(), annotations: Object.keys(annotations).sort() };
  return keys.labels.length + keys.annotations.length === 0 ? {} : { [Annotation.template]: JSON.stringify(keys) };
}

function parseTemplate(text: string | undefined): TemplateKeys {
  // Most Secrets have none, and an error that is caught takes longer than everything else here.
  if (text === undefined) return { labels: [], annotations: [] };
  try {
    const { labels, annotations } = Object(JSON.parse(text)) as Partial<Record<keyof TemplateKeys, unknown>>;
    return { labels: keysOf(labels), annotations: keysOf(annotations) };
  } catch {
    return { labels: [], annotations: [] };
  }
}

function keysOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : [];
}

function ownerReference({ metadata }: ManagedToken): OwnerReference {
  return {
    apiVersion: `${TokensGroup}/${Version}`,
    kind: 'ManagedToken',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: false,
  };
}

function sameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return (
    a.uid === b.uid &&
    a.name === b.name &&
    a.kind === b.kind &&
    a.apiVersion === b.apiVersion &&
    Boolean(a.controller) === Boolean(b.controller) &&
    Boolean(a.blockOwnerDeletion) === Boolean(b.blockOwnerDeletion)
  );
}

function sameTexts(a: Texts, b: Texts): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}
