// Which fields an endpoint does not write: nobody comes to own them through it.

import type { Kind } from '../kinds/kind.ts';

/** Status is written at its own endpoint only, and that writes little else. `subresource` is empty for the object itself. */
export function resetPathsOf(
  { subresources, builtIn }: Pick<Kind, 'subresources' | 'builtIn'>,
  subresource: string,
): readonly (readonly string[])[] {
  const status = subresources.find(({ name }) => name === 'status');
  if (status === undefined) return [];
  if (subresource !== 'status') return [['status']];
  if (status.resets !== undefined) return status.resets;
  // The status endpoints of built-in kinds take changes of metadata, those of custom resources do not.
  return builtIn ? [['spec']] : [['metadata'], ['spec']];
}
