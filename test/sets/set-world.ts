// ManagedTokenSets in a TokenWorld: Clusters that all register the same target, and test actions on sets.

import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../../src/api/managed-token-set.gen.ts';
import { ClusterRoles, Clusters, type Event, Events, ManagedTokenSets, ManagedTokens } from '../../src/api/resources.ts';
import { AUDIENCE, TokenWorld } from '../tokens/token-world.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface SetSpec {
  readonly clusterSelector?: Fields;
  readonly metadata?: Fields;
  readonly spec?: Fields;
  readonly maxConcurrent?: number;
  readonly clusterProfiles?: boolean;
}

export class SetWorld {
  readonly tokens: TokenWorld;

  private constructor(tokens: TokenWorld) {
    this.tokens = tokens;
  }

  static async start(): Promise<SetWorld> {
    return new SetWorld(await TokenWorld.start());
  }

  get namespace(): string {
    return this.tokens.namespace;
  }

  get admin() {
    return this.tokens.hub.admin;
  }

  /** Registers Clusters with these labels. */
  async register(names: readonly string[], labels: Readonly<Record<string, string>> = { env: 'prod' }): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        await this.tokens.register(name);
        await this.label(name, labels);
      }),
    );
  }

  async label(name: string, labels: Readonly<Record<string, string | null>>): Promise<void> {
    await this.admin.patch(Clusters, { name }, { metadata: { labels } });
  }

  /** Creates a set that selects env=prod. */
  async create(name = 'fleet', options: SetSpec = {}): Promise<ManagedTokenSet> {
    const { clusterSelector = { matchLabels: { env: 'prod' } }, metadata = {}, spec = {}, maxConcurrent = 10, clusterProfiles } = options;
    const set = {
      apiVersion: 'tokens.purser.dev/v1alpha1' as const,
      kind: 'ManagedTokenSet' as const,
      metadata: { name, namespace: this.namespace },
      spec: {
        clusterSelector,
        template: { metadata, spec: { serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: [AUDIENCE], ...spec } },
        rollout: { maxConcurrent },
        ...(clusterProfiles !== undefined && { clusterProfiles }),
      },
    };
    return await this.admin.create(ManagedTokenSets, set as unknown as ManagedTokenSet);
  }

  async patch(patch: Fields, name = 'fleet'): Promise<void> {
    await this.admin.patch(ManagedTokenSets, { namespace: this.namespace, name }, patch);
  }

  /** Confirms the paused removal of a set with the value that its condition names. */
  async confirmRemoval(): Promise<void> {
    const message = (await this.get()).status?.conditions?.find(({ reason }) => reason === 'RemovalPaused')?.message ?? '';
    const [, value = ''] = /tokens\.purser\.dev\/confirm-removal=(\S+)/.exec(message) ?? [];
    await this.patch({ metadata: { annotations: { 'tokens.purser.dev/confirm-removal': value } } });
  }

  async delete(name = 'fleet'): Promise<void> {
    await this.admin.delete(ManagedTokenSets, { namespace: this.namespace, name });
  }

  /** Withdraws these verbs from Purser's permissions for ClusterProfiles. Returns a function that grants them again. */
  async withdrawProfiles(withdrawn: readonly string[]): Promise<() => Promise<void>> {
    const name = 'purser-controller-tokens';
    const { rules = [] } = await this.admin.get(ClusterRoles, { name });
    const others = rules.map(({ verbs, ...rule }) => {
      const isMeant = rule.resources?.includes('clusterprofiles') === true;
      return { ...rule, verbs: isMeant ? verbs.filter((verb) => !withdrawn.includes(verb)) : verbs };
    });
    await this.admin.patch(ClusterRoles, { name }, { rules: others });
    return async () => void (await this.admin.patch(ClusterRoles, { name }, { rules }));
  }

  get(name = 'fleet'): Promise<ManagedTokenSet> {
    return this.admin.get(ManagedTokenSets, { namespace: this.namespace, name });
  }

  async children(): Promise<readonly ManagedToken[]> {
    return (await this.admin.list(ManagedTokens, { namespace: this.namespace })).items;
  }

  async names(): Promise<readonly string[]> {
    return (await this.children()).map(({ metadata }) => metadata.name ?? '').sort();
  }

  /** Returns the counts and conditions of a set as one text. */
  async summary(name = 'fleet'): Promise<string> {
    const { status = {} } = await this.get(name);
    const conditions = status.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`) ?? [];
    return [`${status.clusters}/${status.ready}/${status.updated}/${status.failing}`, ...conditions].join(' ');
  }

  async until(expected: string, name = 'fleet'): Promise<void> {
    let seen = '';
    try {
      await this.tokens.until(async () => {
        seen = await this.summary(name);
        return seen === expected;
      });
    } catch (error) {
      throw new Error(`the set is ${seen}, not ${expected}`, { cause: error });
    }
  }

  async events(name = 'fleet'): Promise<readonly Event[]> {
    const { items } = await this.admin.list(Events, { namespace: this.namespace });
    return items.filter(({ involvedObject }) => involvedObject.kind === 'ManagedTokenSet' && involvedObject.name === name);
  }
}

export function complete(count: number): string {
  return `${count}/${count}/${count}/0 Ready=True AllReady Progressing=False Complete`;
}
