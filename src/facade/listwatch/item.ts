// One Cluster as callers see it: the public object, and its bytes, made once for all of them.

import { EVERYTHING } from '../../access/visibility.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { goJson, goJsonString } from '../../std/go-text.ts';
import { type PublicCluster, publicCluster } from '../clusters/public-cluster.ts';
import { formatVersion } from './version.ts';

/** A version of a Cluster. Nothing that is not public is kept. */
export class PublishedCluster {
  readonly name: string;
  /** The hub's resourceVersion of the object. */
  readonly revision: number;
  readonly object: KubeObject;
  /** Approximate size in memory, in bytes. */
  readonly weight: number;
  #bytes: Buffer | undefined;
  /** Where in the bytes the resourceVersion stands. */
  #versionAt = 0;
  #versionEnd = 0;

  constructor(cluster: Cluster, annotationPrefixes: readonly string[]) {
    const object = publicCluster(cluster, annotationPrefixes);
    this.name = object.metadata.name ?? '';
    this.revision = Number(object.metadata.resourceVersion ?? 0);
    this.object = object as KubeObject;
    this.weight = BASE_WEIGHT + lengthOf(cluster.metadata.labels) + (cluster.spec.orchestratorApiEndpoints?.caBundle?.length ?? 0);
  }

  /** The object with another resourceVersion. */
  at(version: string): KubeObject {
    return { ...this.object, metadata: { ...this.object.metadata, resourceVersion: version } };
  }

  /** The compact JSON with the hub's resourceVersion. */
  get bytes(): Buffer {
    this.#bytes ??= this.#encode();
    return this.#bytes;
  }

  /** Keeps the same bytes in another place, so that a list and its items share them. */
  moveTo(bytes: Buffer): void {
    this.#bytes = bytes;
  }

  /** The compact JSON with another resourceVersion, in parts. */
  parts(version: string): readonly [Buffer, Buffer, Buffer] {
    const { bytes } = this;
    return [bytes.subarray(0, this.#versionAt), Buffer.from(version, 'latin1'), bytes.subarray(this.#versionEnd)];
  }

  /** The parts of an item in the list of a caller with this fingerprint. */
  itemParts(fingerprint: number): readonly Buffer[] {
    return fingerprint === EVERYTHING ? [this.bytes] : this.parts(formatVersion(this.revision, fingerprint));
  }

  /** How long they are together. */
  itemLength(fingerprint: number): number {
    const { length } = this.bytes;
    if (fingerprint === EVERYTHING) return length;
    return length - (this.#versionEnd - this.#versionAt) + formatVersion(this.revision, fingerprint).length;
  }

  #encode(): Buffer {
    const [before, version, after] = textParts(this.object);
    this.#versionAt = Buffer.byteLength(before);
    this.#versionEnd = this.#versionAt + version.length;
    return Buffer.from(before + version + after);
  }
}

/** Size of a Cluster with few labels and without a CA. */
const BASE_WEIGHT = 2_000;

function lengthOf(texts: Readonly<Record<string, string>> = {}): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/** The JSON of an object with sorted keys, cut before and after its resourceVersion. */
function textParts({ metadata, ...rest }: PublicCluster): readonly [string, string, string] {
  const { resourceVersion = '', ...others } = metadata;
  const fields = Object.entries(others);
  const before = goJson(Object.fromEntries(fields.filter(([key]) => key < 'resourceVersion')));
  const after = goJson(Object.fromEntries(fields.filter(([key]) => key > 'resourceVersion')));
  const { apiVersion, kind, ...body } = rest;
  const head = `{"apiVersion":${goJsonString(apiVersion)},"kind":${goJsonString(kind)},"metadata":${opened(before)}"resourceVersion":"`;
  return [head, resourceVersion, `"${continued(after)}${continued(goJson(body))}`];
}

/** A JSON object without its end, ready for another field. */
function opened(json: string): string {
  return json === '{}' ? '{' : `${json.slice(0, -1)},`;
}

/** The fields of a JSON object behind others, with its end. */
function continued(json: string): string {
  return json === '{}' ? '}' : `,${json.slice(1)}`;
}
