// Input of the discovery documents.

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
  /** All served kinds; documents are regenerated when the array changes. */
  readonly kinds: readonly Kind[];
  /** Host and port under which clients reach the server. */
  readonly serverAddress: string;
  readonly now: number;
}
