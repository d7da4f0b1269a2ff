// What Purser is told when it is put together.

import type { ServingCertificate } from '../http/certificate.ts';
import type { FacadeSettings } from '../http/facade.ts';
import type { Env } from '../kube/exec-credential.ts';
import type { KubeConfigSource } from '../kube/kube-config.ts';
import type { Clock } from '../std/clock.ts';
import type { Logger } from '../telemetry/logger.ts';

/** What Purser is built from. */
export interface AppOptions {
  /** The hub, and who we are there. */
  readonly hub: KubeConfigSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Environment of the kubeconfig's credential plugins; without it, none is run. */
  readonly execEnv?: Env;
  readonly settings: AppSettings;
  /** The certificate of the façade, where it is neither in files nor in a Secret; without it, one is made. */
  readonly facadeCertificate?: ServingCertificate;
  /** Told of a defect that ended the work: only a new process can help. */
  readonly onDefect?: (error: unknown) => void;
}

/** What an operator can set. */
export interface AppSettings extends FacadeSettings {
  /** Where Purser is installed: its Lease is there. */
  readonly namespace: string;
  readonly credentialNamespaces: readonly string[];
  /** The longest lifetime that a ManagedToken may ask for, and the audiences that it may name; all by default. */
  readonly maxExpirationSeconds?: number | undefined;
  readonly allowedAudiences?: readonly string[] | undefined;
  /** The proxy by which clusters are reached, and those that are reached without; see `proxyPolicy`. */
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly verifyIntervalMs: number;
  /** How often clusters are asked whether they are ready. */
  readonly probeIntervalMs?: number;
  /** How often their version, and our identity and rights there, are looked at. */
  readonly accessIntervalMs?: number;
  /** The Cluster that is the hub itself. */
  readonly hubCluster?: string | undefined;
  /** The address of ours by which the hub is reached. */
  readonly ownAddress?: string | undefined;
  /** Whether clusters may be on this machine. */
  readonly allowLoopback: boolean;
  /** What this process does; everything by default. */
  readonly components?: readonly ('controller' | 'facade')[];
  /** Files with the certificate of the façade and its key. */
  readonly facadeTlsCert?: string | undefined;
  readonly facadeTlsKey?: string | undefined;
  /** The Secret in our namespace that has the certificate of the façade, and is made where it is missing. */
  readonly facadeTlsSecret?: string | undefined;
  /** Whether to install our custom resources on the hub. */
  readonly installCrds?: boolean;
  /** Where ManagedTokens count; everywhere by default. */
  readonly namespaces?: readonly string[] | undefined;
  /** How long work under way may take to end. */
  readonly drainMs: number;
  /** Port of the metrics; 0 for any that is free. */
  readonly metricsPort: number;
  /** Who may read the metrics: whoever the hub lets, or everybody. */
  readonly metricsAuth: 'token' | 'none';
  /** Whether the metrics are served with the certificate of the façade, or in plain text. */
  readonly metricsTls?: boolean;
}
