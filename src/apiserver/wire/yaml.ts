// YAML as Kubernetes takes and writes it: another spelling of JSON, with YAML 1.1 scalars and sorted keys.

import type { JsonNode } from './json-parse.ts';

export interface YamlDocument {
  readonly node: JsonNode;
  /** What strict decoding says of repeated keys; the whole text is one error. */
  readonly duplicates?: string;
}

/** Parses the first document of a YAML stream, or throws an Error whose message starts with `yaml: `. */
export declare function parseYaml(body: Uint8Array): YamlDocument;

/** A JSON value as YAML, with sorted keys, as Kubernetes answers `Accept: application/yaml`. */
export declare function encodeYaml(value: unknown): string;
