// What a scenario of the bench is, and what it tells.

/** small takes minutes, full has the sizes of the goals. */
export type Scale = 'small' | 'full';

/** Says what is being done; shown while it is done. */
export type Tell = (text: string) => void;

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** What its size is a number of. */
  readonly what: string;
  readonly sizes: Readonly<Record<Scale, number>>;
  /** What one has to know to read its figures. */
  readonly note?: string;
  readonly run: (extent: Extent, tell: Tell) => Promise<Outcome>;
}

/** How much is to be measured: for how long, and of how many. */
export interface Extent {
  readonly scale: Scale;
  readonly size: number;
}

/** One measured value, most often a ratio of two that were measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly goal?: Goal;
}

/** The bound that a value has to keep. */
export interface Goal {
  readonly bound: 'at most' | 'at least';
  readonly value: number;
}

/** Values side by side. */
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
  /** Everything that was measured. */
  readonly measured: object;
}

/** Not more than this. */
export function atMost(value: number): Goal {
  return { bound: 'at most', value };
}

/** Not less than this. */
export function atLeast(value: number): Goal {
  return { bound: 'at least', value };
}

/** Whether a figure keeps its goal; undefined when it has none. */
export function isMet({ value, goal }: Figure): boolean | undefined {
  if (goal === undefined) return undefined;
  return goal.bound === 'at most' ? value <= goal.value : value >= goal.value;
}
