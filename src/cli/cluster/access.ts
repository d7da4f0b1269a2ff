// Purser's permissions on a target cluster. Several registrations of one target share the roles and bindings, so subjects of other
// registrations are kept.

import {
  type ApiObject,
  type ClusterRoleBinding,
  ClusterRoleBindings,
  Namespaces,
  type Resource,
  type RoleBinding,
  RoleBindings,
  ServiceAccounts,
  type Stored,
} from '../../api/resources.ts';
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import { applyAll, deleteAll, parseManifests } from '../../kube/manifests.ts';
import { nameOf, objectKeyOf } from '../../kube/paths.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { ignoreReasons } from '../../kubernetes/status.ts';
import { renderTargetAccess } from '../manifests.ts';

export interface AccessOptions {
  /** Purser's namespace on the hub. */
  readonly namespace: string;
  /** Name of the hub's service account that the target trusts; undefined if Purser uses a service account on the target. */
  readonly serviceAccount: string | undefined;
  /** Namespaces of the service accounts that Purser can issue tokens for; undefined for all. */
  readonly namespaces: readonly string[] | undefined;
}

/** Returns the objects that grant Purser access to a target, as `purser print target-rbac` prints them. */
export async function toAccessObjects({ namespace, serviceAccount, namespaces }: AccessOptions): Promise<readonly ApiObject[]> {
  // With the output of `purser print authentication-config`, the target maps the service account to this user.
  const user = serviceAccount === undefined ? {} : { user: `hub:${toServiceAccountUsername({ namespace, name: serviceAccount })}` };
  return parseManifests(await renderTargetAccess({ ...(namespaces && { namespaces }), ...user }));
}

/** Applies the objects, and keeps additional subjects of existing bindings. */
export async function grantAccess(client: KubeClient, objects: readonly ApiObject[], options: CallOptions): Promise<void> {
  for (const object of objects) {
    const kept = isBinding(object) ? selectOtherSubjects(await findBinding(client, object, options), object) : [];
    const merged = isBinding(object) && kept.length > 0 ? { ...object, subjects: [...kept, ...(object.subjects ?? [])] } : object;
    await applyAll(client, [merged], options);
  }
}

/**
 * Removes the subjects of the given bindings from the bindings on the cluster. Deletes bindings without other subjects, and the given roles
 * that no kept binding refers to.
 */
export async function withdrawAccess(client: KubeClient, objects: readonly ApiObject[], options: CallOptions): Promise<void> {
  const usedRoles = new Set<string>();
  for (const binding of objects.filter(isBinding)) {
    const found = await findBinding(client, binding, options);
    const kept = selectOtherSubjects(found, binding);
    if (found === undefined || kept.length === 0) {
      await deleteAll(client, [binding], options);
      continue;
    }
    usedRoles.add(`${binding.roleRef.kind} ${binding.roleRef.name}`);
    await client.update(resourceOf(binding), { ...found, subjects: kept }, options);
  }
  const isRole = ({ kind }: ApiObject) => kind === 'Role' || kind === 'ClusterRole';
  await deleteAll(
    client,
    objects.filter((object) => isRole(object) && !usedRoles.has(`${object.kind} ${nameOf(object).name}`)),
    options,
  );
}

/** Returns the roles and bindings among several sets of objects, without duplicates. Omits the service account and its namespace. */
export function selectPermissions(...sets: readonly (readonly ApiObject[])[]): readonly ApiObject[] {
  const all = sets.flat().filter(({ kind }) => kind !== Namespaces.kind && kind !== ServiceAccounts.kind);
  return [...new Map(all.map((object) => [`${object.kind} ${objectKeyOf(object)}`, object])).values()];
}

type Binding = ClusterRoleBinding | RoleBinding;
type Subject = NonNullable<Binding['subjects']>[number];

function isBinding(object: ApiObject): object is Binding {
  return object.kind === ClusterRoleBindings.kind || object.kind === RoleBindings.kind;
}

function resourceOf({ kind }: ApiObject): Resource<Binding> {
  return kind === RoleBindings.kind ? RoleBindings : ClusterRoleBindings;
}

async function findBinding(client: KubeClient, binding: Binding, options: CallOptions): Promise<Stored<Binding> | undefined> {
  return await ignoreReasons(client.get(resourceOf(binding), nameOf(binding), options), 'NotFound');
}

/** Returns the subjects of an existing binding that the desired binding does not have. */
function selectOtherSubjects(found: Binding | undefined, { subjects = [] }: Binding): readonly Subject[] {
  const own = new Set(subjects.map(encodeSubject));
  return (found?.subjects ?? []).filter((subject) => !own.has(encodeSubject(subject)));
}

function encodeSubject({ kind, namespace = '', name }: Subject): string {
  return [kind, namespace, name].join(' ');
}
