// Clock on which every computation takes time.

import { FakeClock } from './clock.ts';

/** Clock that advances with each reading, by `stepMs`. */
export class SlowClock extends FakeClock {
  stepMs = 0;

  override monotonic(): number {
    const now = super.monotonic();
    if (this.stepMs > 0) super.advance(this.stepMs);
    return now;
  }
}
