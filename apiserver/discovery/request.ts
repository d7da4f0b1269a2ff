// What the answers of discovery depend on.

import type { Kind } from '../kinds/kind.ts';

export interface DiscoveryRequest {
  readonly method: string;
  /** Decoded path, such as `/apis/rbac.authorization.k8s.io/v1`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export interface DiscoveryState {
  /** All kinds that exist now; documents are made anew when this is another array. */
  readonly kinds: readonly Kind[];
  /** Host and port under which clients reach the server. */
  readonly serverAddress: string;
  readonly now: number;
}
