// Syntax trees of CEL: where Kubernetes' compiler says that a node stands, which is not where its text begins.

/** A node as the parser makes it. */
export interface CelNode {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Whether a value in a syntax tree is a node. */
export function isNode(value: unknown): value is CelNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'start' in value && 'end' in value;
}

/** A node and all nodes below it, from the outside in. */
export function nodesIn(value: unknown): readonly CelNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return isNode(value) ? [value, ...nodesIn(value.args)] : [];
}

/** The outermost node with exactly this range. */
export function nodeAt(tree: unknown, { start, end }: Range): CelNode | undefined {
  return nodesIn(tree).find((node) => node.start === start && node.end === end);
}

/** The offset of a node: that of its operator, its dot or its parenthesis where it has one. */
export function offsetOf({ op, args, start }: CelNode, expression: string): number {
  const [first, second] = Array.isArray(args) ? (args as readonly unknown[]) : [];
  if (op === 'call' && typeof first === 'string') return expression.indexOf('(', start);
  if (op === 'rcall' && isNode(second)) return expression.indexOf('(', second.end);
  if (!isNode(first) || first.start !== start) return start;
  return first.end + expression.slice(first.end).search(/\S/);
}
