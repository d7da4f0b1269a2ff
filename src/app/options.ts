// What Purser is told when it is put together.

import type { Config } from '../config/config.ts';
import type { ServingCertificate } from '../facade/certificate.ts';
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

/** What an operator can set, and what follows from where the process runs. */
export interface AppSettings extends Omit<Config, OfTheProcess> {
  /** Who may read the metrics: whoever the hub lets, or everybody. */
  readonly metricsAuth: 'token' | 'none';
  /** The address of ours by which the hub is reached. */
  readonly ownAddress?: string | undefined;
  /** Memory limit of the process, in bytes; undefined without one. */
  readonly memoryBytes?: number | undefined;
  /** How long work under way may take to end. */
  readonly drainMs: number;
}

/** What is done with before anything is put together. */
type OfTheProcess =
  | 'command'
  | 'help'
  | 'version'
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
