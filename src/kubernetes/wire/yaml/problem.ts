// Syntax errors of YAML with the messages of Kubernetes' YAML library, for problems that the `yaml` package also detects.

import type { LineCounter, YAMLParseError } from 'yaml';

/** Maximum depth of nested lists and objects. The parser recurses, and 1,000 levels sometimes overflow its stack. */
export const MAX_YAML_DEPTH = 500;
export const TOO_DEEP = `exceeded max depth of ${MAX_YAML_DEPTH}`;

interface Wording {
  /** Pattern of the message of the `yaml` package. */
  readonly found: RegExp;
  /** Message of Kubernetes' library. */
  readonly text: string;
  /** Origin of the error in Kubernetes' library: its parser counts lines from zero, its scanner from one. */
  readonly by: 'scanner' | 'parser';
  /** Number of lines that Kubernetes' library adds to the position; 0 by default. */
  readonly later?: number;
}

const WORDINGS: readonly Wording[] = [
  { found: /^Tabs are not allowed|^Plain value cannot start/, text: 'found character that cannot start any token', by: 'scanner' },
  { found: /^Nested mappings/, text: 'mapping values are not allowed in this context', by: 'scanner' },
  { found: /^Implicit keys need to be on/, text: 'mapping values are not allowed in this context', by: 'scanner', later: 1 },
  { found: /^Missing closing/, text: 'found unexpected end of stream', by: 'scanner' },
  { found: /^Flow sequence in block|^Flow sequence must/, text: "did not find expected ',' or ']'", by: 'parser' },
  { found: /^Flow map in block|^Flow map must/, text: "did not find expected ',' or '}'", by: 'parser', later: 1 },
  { found: /^Implicit map keys need to be followed/, text: "could not find expected ':'", by: 'scanner', later: 1 },
  { found: /^Unexpected block-seq-ind/, text: 'block sequence entries are not allowed in this context', by: 'scanner' },
  { found: /^Unexpected , in flow|^Unexpected flow-/, text: 'did not find expected node content', by: 'parser' },
  { found: /^Unexpected scalar at node end/, text: 'did not find expected key', by: 'parser' },
  { found: /^Invalid escape sequence \\[xuU]/, text: 'did not find expected hexdecimal number', by: 'scanner' },
  { found: /^Invalid escape sequence/, text: 'found unknown escape character', by: 'scanner' },
];

/** Returns the message for invalid YAML, without a line number if Kubernetes' library places the problem on the first line. */
export function formatYamlProblem({ message, pos: [at] }: Pick<YAMLParseError, 'message' | 'pos'>, lines: LineCounter): string {
  const wording = WORDINGS.find(({ found }) => found.test(message));
  const line = lines.linePos(at).line + (wording?.later ?? 0);
  const shown = wording?.by === 'parser' ? line - 1 : line;
  const text = wording?.text ?? message.split('\n')[0];
  return line === 1 ? `yaml: ${text}` : `yaml: line ${shown}: ${text}`;
}
