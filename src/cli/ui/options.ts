// Values of the options of `purser ui`.

import type { FacadeClientOptions } from '../facade/options.ts';

/** Values of the options of `purser ui`. */
export interface UiOptions extends FacadeClientOptions {
  /** Port of the page; 0 selects a free port. */
  readonly port: number;
  /** True to open the page in a browser. */
  readonly open: boolean;
}
