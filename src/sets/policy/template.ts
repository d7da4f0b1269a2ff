// Rendering of a ManagedTokenSet's template: the ManagedToken for each cluster, with the placeholders of the template replaced.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { ManagedTokenSet, ManagedTokenSetTemplate } from '../../api/managed-token-set.gen.ts';
import { SetAnnotation, TokensGroup } from '../../api/names.ts';
import type { Stored } from '../../api/resources.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import { validateDns1123Subdomain, validateLabelValue } from '../../kubernetes/names.ts';
import { computeDigest, digestIfLong } from '../../std/digest.ts';
import { encodeGoJson } from '../../std/go-text.ts';

/** A ManagedTokenSet as the informer keeps it. */
export interface StoredSet extends Stored<ManagedTokenSet> {
  /** True if the ManagedTokenSet is larger than `MAX_SET_BYTES`, so that parts of it are missing. */
  readonly isTooLarge?: true;
  /** True if parts of the ManagedTokenSet are missing because the sets of its namespace take too much memory. */
  readonly isOverBudget?: true;
}

/** Name and labels of a Cluster. */
export interface ClusterLabels {
  readonly name: string;
  readonly labels?: StringMap | undefined;
}

/** The ManagedToken of a cluster, as the template describes it. */
export interface RenderedToken {
  readonly name: string;
  readonly spec: ManagedToken['spec'];
  readonly labels: StringMap;
  /** Annotations, including the digest. */
  readonly annotations: StringMap;
  /** Digests of the template and of the parts that the ManagedToken has from the template, joined with a hyphen. */
  readonly digest: string;
}

/** Result of rendering; `problem` is a sentence without a capital letter or full stop. */
export type Rendering = { readonly rendered: RenderedToken } | { readonly problem: string };

type StringMap = Readonly<Record<string, string>>;

const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
const MAX_ANNOTATION_LENGTH = 1_024;
/** Number of hexadecimal digits in the hash of a shortened name or label value. A second text with a given hash is infeasible to find. */
const HASH_LENGTH = 16;
const DIGEST_LENGTH = 16;

/** Returns the name of a cluster's ManagedToken. An overlong name is shortened, and ends with a hash. */
export function toChildName(setName: string, clusterName: string): string {
  return shorten(`${setName}-${clusterName}`, MAX_NAME_LENGTH);
}

/** Renders a cluster's ManagedToken from the template of the set; returns the first problem if the result is not valid. */
export function renderToken({ metadata, spec: { template } }: StoredSet, cluster: ClusterLabels): Rendering {
  const { secret, ...spec } = template.spec;
  const renderLabels = (texts: StringMap = {}) => mapValues(texts, (text) => shorten(replacePlaceholders(text, cluster), MAX_LABEL_LENGTH));
  const renderAnnotations = (texts: StringMap = {}) => mapValues(texts, (text) => replacePlaceholders(text, cluster));
  const secretName = secret.name === undefined ? undefined : shorten(replacePlaceholders(secret.name, cluster), MAX_NAME_LENGTH);
  const renderedSecret = {
    ...secret,
    ...(secretName !== undefined && { name: secretName }),
    ...(secret.labels && { labels: renderLabels(secret.labels) }),
    ...(secret.annotations && { annotations: renderAnnotations(secret.annotations) }),
  };
  const labels = renderLabels(template.metadata.labels);
  const annotations = renderAnnotations(template.metadata.annotations);
  const problem =
    (secretName === undefined ? undefined : findProblem('spec.secret.name', secretName, validateDns1123Subdomain)) ??
    findLabelsProblem('spec.secret.labels', renderedSecret.labels) ??
    findLabelsProblem('metadata.labels', labels) ??
    findAnnotationsProblem('spec.secret.annotations', renderedSecret.annotations) ??
    findAnnotationsProblem('metadata.annotations', annotations);
  if (problem !== undefined) return { problem };
  const rendered = { name: toChildName(metadata.name, cluster.name), spec: { ...spec, clusterName: cluster.name, secret: renderedSecret } };
  const digest = `${digestTemplate(template)}-${digestContent({ spec: rendered.spec, metadata: { labels, annotations } })}`;
  return { rendered: { ...rendered, labels, annotations: { ...annotations, [SetAnnotation.templateDigest]: digest }, digest } };
}

export function digestTemplate(template: ManagedTokenSetTemplate): string {
  const known = DIGESTS.get(template);
  if (known !== undefined) return known;
  const digest = computeShortDigest(encodeGoJson(template));
  DIGESTS.set(template, digest);
  return digest;
}

/** Digests by template object. Safe as a cache, because informers never modify objects. */
const DIGESTS = new WeakMap<ManagedTokenSetTemplate, string>();

/** Returns the digest of the template that a ManagedToken was rendered from; undefined without the annotation that contains it. */
export function recordedTemplateDigestOf({ annotations }: ObjectMeta): string | undefined {
  return annotations?.[SetAnnotation.templateDigest]?.split('-')[0];
}

/** Returns the digest of the parts that a ManagedToken has from the template; for a rendering, or for a ManagedToken from the informer. */
export function digestContent({ spec, metadata }: { readonly spec: ManagedToken['spec']; readonly metadata: TemplateMetadata }): string {
  return computeShortDigest(encodeGoJson([spec, encodeTemplateMetadata(metadata)]));
}

/** Returns the content digest in the digest of a rendering; undefined if there is none. */
export function contentDigestOf(digest: string): string | undefined {
  return digest.split('-')[1];
}

/**
 * Encodes the labels and annotations that come from a template, for comparison; replaces long values of annotations with digests, and omits
 * Purser's annotations. The argument is the metadata of a rendering, or of a ManagedToken as the informer keeps it, without the labels and
 * annotations that users have set.
 */
export function encodeTemplateMetadata({ labels = {}, annotations = {} }: TemplateMetadata): string {
  const own = Object.entries(annotations).filter(([key]) => !key.startsWith(`${TokensGroup}/`));
  return encodeGoJson([labels, Object.fromEntries(own.map(([key, value]) => [key, digestIfLong(value)]))]);
}

interface TemplateMetadata {
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
}

/** Replaces `{{cluster}}` and `{{label "name"}}`; a placeholder for a label that the Cluster lacks becomes empty. */
function replacePlaceholders(text: string, { name, labels = {} }: ClusterLabels): string {
  return text.replace(PLACEHOLDER, (_, label: string | undefined) => {
    if (label === undefined) return name;
    return Object.hasOwn(labels, label) ? (labels[label] ?? '') : '';
  });
}

const PLACEHOLDER = /\{\{(?:cluster|label "([A-Za-z0-9][-A-Za-z0-9_./]*)")\}\}/g;

/** Shortens a string that is too long, and appends a hash of the whole text. */
function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const cut = text.slice(0, maxLength - HASH_LENGTH - 1).replace(/[-._]+$/, '');
  return `${cut}-${toHexDigest(text).slice(0, HASH_LENGTH)}`;
}

function mapValues(texts: StringMap, change: (text: string) => string): StringMap {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, change(text)]));
}

function findLabelsProblem(field: string, texts: StringMap = {}): string | undefined {
  return findFirstProblem(field, texts, validateLabelValue);
}

function findAnnotationsProblem(field: string, texts: StringMap = {}): string | undefined {
  const tooLong = `must have at most ${MAX_ANNOTATION_LENGTH} characters`;
  return findFirstProblem(field, texts, (text) => (Array.from(text).length > MAX_ANNOTATION_LENGTH ? [tooLong] : []));
}

function findFirstProblem(field: string, texts: StringMap, problemsOf: (text: string) => readonly string[]): string | undefined {
  for (const [key, text] of Object.entries(texts)) {
    const problem = findProblem(`${field}[${key}]`, text, problemsOf);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findProblem(field: string, text: string, problemsOf: (text: string) => readonly string[]): string | undefined {
  const [problem] = problemsOf(text);
  return problem === undefined ? undefined : `${field} is ${JSON.stringify(text.slice(0, MAX_NAME_LENGTH))}: ${problem}`;
}

function computeShortDigest(text: string): string {
  return toHexDigest(text).slice(0, DIGEST_LENGTH);
}

function toHexDigest(text: string): string {
  return computeDigest(text).slice('sha256:'.length);
}
