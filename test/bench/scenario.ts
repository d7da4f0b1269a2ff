// Scenario of the bench, and its results.

/** Scale: small takes minutes, full uses the sizes of the goals. */
export type Scale = 'small' | 'full';

/** Prints the current step. */
export type PrintProgress = (text: string) => void;

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Unit of the size, such as `clusters`. */
  readonly sizeUnit: string;
  readonly sizes: Readonly<Record<Scale, number>>;
  /** Explanation of the figures. */
  readonly note?: string;
  readonly run: (extent: Extent, progress: PrintProgress) => Promise<Outcome>;
}

/** Scale and size of a run. */
export interface Extent {
  readonly scale: Scale;
  readonly size: number;
}

/** Measured value, usually a ratio of two values of the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly goal?: Goal;
}

/** Bound for a value. */
export interface Goal {
  readonly bound: 'at most' | 'at least';
  readonly value: number;
}

/** Chart of several values. */
export interface Chart {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly label: string;
  readonly value: number;
}

export interface Outcome {
  readonly figures: readonly Figure[];
  readonly charts: readonly Chart[];
  /** All measurements. */
  readonly measured: object;
}

/** Returns a goal with an upper bound. */
export function atMost(value: number): Goal {
  return { bound: 'at most', value };
}

/** Returns a goal with a lower bound. */
export function atLeast(value: number): Goal {
  return { bound: 'at least', value };
}

/** Returns true if a figure meets its goal; undefined without a goal. */
export function isMet({ value, goal }: Figure): boolean | undefined {
  if (goal === undefined) return undefined;
  return goal.bound === 'at most' ? value <= goal.value : value >= goal.value;
}
