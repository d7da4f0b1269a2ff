// Options of the composition root.

import type { Config } from '../config/config.ts';
import type { ServingCertificate } from '../facade/certificate.ts';
import type { Env } from '../kube/exec-credential.ts';
import type { KubeConfigSource } from '../kube/kube-config.ts';
import type { Clock } from '../std/clock.ts';
import type { Logger } from '../telemetry/logger.ts';

/** Dependencies and settings of Purser. */
export interface AppOptions {
  /** Address of the hub and Purser's identity there. */
  readonly hub: KubeConfigSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Environment of the kubeconfig's credential plugins; undefined disables plugins. */
  readonly execEnv?: Env;
  readonly settings: AppSettings;
  /** Façade certificate if no files and no Secret are configured; undefined for a self-signed certificate. */
  readonly facadeCertificate?: ServingCertificate;
  /** Called with an error that stopped the controllers permanently; the process must restart. */
  readonly onDefect?: (error: unknown) => void;
}

/** Settings that administrators configure, and settings that depend on the environment of the process. */
export interface AppSettings extends Omit<Config, ProcessSetting> {
  /** Authorization that /metrics requires: a bearer token with permission, or none. */
  readonly metricsAuth: 'token' | 'none';
  /** Local IP address of connections to the hub; undefined if unknown. */
  readonly ownAddress?: string | undefined;
  /** Memory limit of the process, in bytes; undefined if there is none. */
  readonly memoryBytes?: number | undefined;
  /** Maximum time for running reconciles to finish at shutdown, in milliseconds; requests to the façade have a quarter of this time. */
  readonly drainMs: number;
}

/** Settings that the composition root does not read, and `metricsAuth`, which AppSettings redefines. */
type ProcessSetting =
  | 'kubeConfig'
  | 'dataDir'
  | 'apiPort'
  | 'clusters'
  | 'samples'
  | 'readyFile'
  | 'logLevel'
  | 'localOnly'
  | 'unknownVariables'
  | 'metricsAuth';
