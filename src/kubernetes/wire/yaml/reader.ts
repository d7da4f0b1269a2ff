// Converts a parsed YAML document to JSON, as Kubernetes' YAML library decodes it into untyped values.

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
  visit,
} from 'yaml';
import { compareUtf8, encodeGoJsonNumber } from '../../../std/go-text.ts';
import { type JsonEntry, type JsonNode } from '../json-node.ts';
import { formatYamlProblem, MAX_YAML_DEPTH, TOO_DEEP } from './problem.ts';
import { resolveTagged, toYamlKey, type YamlScalar } from './tag.ts';

/** Entries of a mapping by the identity of their keys. */
type FieldsById = Map<string, JsonEntry>;

/** Converts one document. Records repeated keys in `duplicates`; the last value applies. */
export class YamlReader {
  readonly duplicates: string[] = [];
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #allowAliases: boolean;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #openAnchors = new Set<unknown>();
  /** Current depth. Aliases can nest deeper than the text. */
  #depth = 0;
  #reads = 0;
  #readsThroughAliases = 0;

  constructor(document: Document.Parsed, lines: LineCounter, allowAliases: boolean) {
    this.#document = document;
    this.#lines = lines;
    this.#allowAliases = allowAliases;
    this.#targets = findAliasTargets(document);
  }

  read(): JsonNode {
    const node = this.#node(this.#document.contents);
    checkFinite(node);
    return node;
  }

  #node(node: unknown): JsonNode {
    this.#count();
    if (this.#depth === MAX_YAML_DEPTH) throw new Error(`yaml: ${TOO_DEEP}`);
    this.#depth++;
    const read = this.#content(node);
    this.#depth--;
    return read;
  }

  #content(node: unknown): JsonNode {
    if (isAlias(node)) return this.#throughAlias(node, (target) => this.#node(target));
    if (isSeq(node)) return { type: 'array', items: node.items.map((item) => this.#node(item)) };
    if (isMap(node)) return this.#mapping(node.items);
    return isScalar(node) ? toJsonScalar(resolveTagged(node)) : { type: 'null' };
  }

  #mapping(pairs: readonly Pair[]): JsonNode {
    const fields: FieldsById = new Map();
    this.#addPairs(fields, pairs);
    const entries = [...fields.values()].sort((a, b) => compareUtf8(a.key, b.key));
    return { type: 'object', entries };
  }

  #addPairs(fields: FieldsById, pairs: readonly Pair[]): void {
    for (const { key, value } of pairs) {
      if (isMergeKey(key)) this.#merge(fields, value);
      else {
        const name = toYamlKey(this.#keyOf(key));
        const node = this.#node(value);
        if (fields.has(name.id)) this.duplicates.push(`line ${this.#lineOf(value, key)}: key ${name.shown} already set in map`);
        fields.set(name.id, { key: name.text, value: node });
      }
    }
  }

  /** Merges the fields of the mappings below `<<`; the first mapping has precedence. */
  #merge(fields: FieldsById, value: unknown): void {
    this.#count();
    if (isMap(value)) this.#addPairs(fields, value.items);
    else if (isAlias(value)) this.#throughAlias(value, (target) => this.#mergeMap(fields, target));
    else if (isSeq(value)) for (const item of value.items.toReversed()) this.#merge(fields, item);
    else throw new Error('yaml: map merge requires map or sequence of maps as the value');
  }

  #mergeMap(fields: FieldsById, target: unknown): void {
    if (!isMap(target)) throw new Error('yaml: map merge requires map or sequence of maps as the value');
    this.#addPairs(fields, target.items);
  }

  #keyOf(key: unknown): YamlScalar {
    this.#count();
    if (isAlias(key)) return this.#throughAlias(key, (target) => this.#keyOf(target));
    return isScalar(key) ? resolveTagged(key) : { type: 'null' };
  }

  #throughAlias<T>(alias: Alias, read: (target: unknown) => T): T {
    if (!this.#allowAliases) {
      const [at = 0] = alias.range ?? [];
      throw new Error(formatYamlProblem({ message: 'aliases are not supported', pos: [at, at] }, this.#lines));
    }
    const target = this.#targets.get(alias);
    if (target === undefined) throw new Error(`yaml: unknown anchor '${alias.source}' referenced`);
    if (this.#openAnchors.has(target)) throw new Error(`yaml: anchor '${alias.source}' value contains itself`);
    this.#openAnchors.add(target);
    const result = read(target);
    this.#openAnchors.delete(target);
    return result;
  }

  /** Counts a read. Throws if too many reads are through aliases: repeated aliases can expand a small document into a huge one. */
  #count(): void {
    this.#reads++;
    if (this.#openAnchors.size > 0) this.#readsThroughAliases++;
    if (this.#readsThroughAliases <= 100 || this.#reads <= 1000) return;
    if (this.#readsThroughAliases / this.#reads > computeAllowedAliasRatio(this.#reads)) {
      throw new Error('yaml: document contains excessive aliasing');
    }
  }

  #lineOf(value: unknown, key: unknown): number {
    const node = isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : (key as Scalar);
    return this.#lines.linePos(node.range?.[0] ?? 0).line;
  }
}

/**
 * Returns the targets by alias: the target is the last node before the alias whose anchor has the name of the alias. An alias without a
 * target is missing. The library would search the whole document for each alias.
 */
function findAliasTargets(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias: (_, alias) => {
      const target = anchors.get(alias.source);
      if (target !== undefined) targets.set(alias, target);
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

const SMALL_DOCUMENT_READS = 400_000;
const LARGE_DOCUMENT_READS = 4_000_000;

function computeAllowedAliasRatio(reads: number): number {
  const share = (reads - SMALL_DOCUMENT_READS) / (LARGE_DOCUMENT_READS - SMALL_DOCUMENT_READS);
  return 0.99 - 0.89 * Math.min(Math.max(share, 0), 1);
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === '<<' && (key.type === 'PLAIN' || key.tag === 'tag:yaml.org,2002:merge');
}

function toJsonScalar(scalar: YamlScalar): JsonNode {
  if (scalar.type === 'integer') return { type: 'number', text: String(scalar.value) };
  if (scalar.type !== 'float') return scalar;
  return { type: 'number', text: Number.isFinite(scalar.value) ? encodeGoJsonNumber(scalar.value) : formatNonFinite(scalar.value) };
}

/** Throws for numbers that JSON does not have. Values that a repeated key replaces are allowed. */
function checkFinite(node: JsonNode): void {
  if (node.type === 'array') for (const item of node.items) checkFinite(item);
  else if (node.type === 'object') for (const { value } of node.entries) checkFinite(value);
  else if (node.type === 'number' && /^(NaN|[+-]Inf)$/.test(node.text)) throw new Error(`json: unsupported value: ${node.text}`);
}

function formatNonFinite(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
