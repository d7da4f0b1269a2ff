// A place in the schema of a CRD.

/** Where a schema stands in its CRD, and what that forbids. */
export interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** Inside the type or metadata of a resource. */
  readonly inMeta: boolean;
  readonly noDefaults?: string;
  /** The nearest list or map whose items cannot be followed from one version of an object to the next. */
  readonly uncorrelated?: string;
  /** Whether rules can be compiled here. */
  readonly compiles: boolean;
}
