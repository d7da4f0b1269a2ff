// Lets a user act as another. There are four constrained modes, each for its own kind of user, which also ask whether the request
// may be made in that mode; and the legacy mode, which only asks about the user. The first mode that allows wins.

import { accessForbidden } from '../../src/kubernetes/access-forbidden.ts';
import { type AccessAttributes, decide, type Policy, SUPERUSERS } from '../../src/kubernetes/rbac.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { authorize } from './authorize.ts';
import { extraProblem } from './impersonation-extra.ts';
import { type Headers, wantedUser } from './impersonation-headers.ts';
import type { User } from './user.ts';
import { nodeOf, serviceAccountGroups, serviceAccountOf, withGroup } from './user-names.ts';

/**
 * The user that a request runs as: `requestor`, or whom its headers want if `requestor` may act as them while doing what `attributes` say.
 * Throws BadRequest when the headers lack a user name, and the first mode's Forbidden when no mode allows it.
 */
export type Impersonation = (requestor: User, headers: Headers, attributes: AccessAttributes) => User;

/** Impersonation under a policy. The mode that last served a requestor is asked first, and so its refusal is the one to be told. */
export function createImpersonation(policy: Policy): Impersonation {
  const lastModes = new Map<string, Mode>();
  return (requestor, headers, attributes) => {
    const wanted = wantedUser(headers);
    if (wanted === undefined) return requestor;
    let firstRefusal: unknown;
    for (const mode of modesFrom(lastModes.get(requestor.name))) {
      if (!mode.applies(wanted, requestor)) continue;
      try {
        const user = impersonated({ requestor, policy, mode }, wanted, attributes);
        remember(lastModes, requestor.name, mode);
        return user;
      } catch (error) {
        if (!hasReason(error, 'Forbidden')) throw error;
        firstRefusal ??= error;
      }
    }
    throw firstRefusal;
  };
}

function modesFrom(last: Mode | undefined): readonly Mode[] {
  return last === undefined ? MODES : [last, ...MODES.filter((mode) => mode !== last)];
}

/** So many requestors are remembered; whoever impersonated longest ago is forgotten. */
const MEMORY = 10_000;

function remember(lastModes: Map<string, Mode>, name: string, mode: Mode): void {
  lastModes.delete(name);
  lastModes.set(name, mode);
  const [oldest] = lastModes.size > MEMORY ? lastModes.keys() : [];
  if (oldest !== undefined) lastModes.delete(oldest);
}

interface Mode {
  /** Absent for the legacy mode. */
  readonly name?: string;
  applies(wanted: User, requestor: User): boolean;
}

interface Attempt {
  readonly requestor: User;
  readonly policy: Policy;
  readonly mode: Mode;
}

const ASSOCIATED_NODE = 'associated-node';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';
/** From so many values on, a constrained mode first asks for all of them at once. */
const MANY = 4;

const MODES: readonly Mode[] = [
  { name: ASSOCIATED_NODE, applies: (wanted, requestor) => isNameAlone(wanted) && runsOn(requestor, nodeOf(wanted.name)) },
  { name: 'arbitrary-node', applies: (wanted) => isNameAlone(wanted) && nodeOf(wanted.name) !== undefined },
  { name: 'serviceaccount', applies: (wanted) => isNameAlone(wanted) && serviceAccountOf(wanted.name) !== undefined },
  { name: 'user-info', applies: ({ name }) => nodeOf(name) === undefined && serviceAccountOf(name) === undefined },
  { applies: () => true },
];

function isNameAlone({ uid, groups, extra }: User): boolean {
  return uid === undefined && groups.length === 0 && extra === undefined;
}

function runsOn({ name, extra }: User, node: string | undefined): boolean {
  const [own, ...others] = extra?.['authentication.kubernetes.io/node-name'] ?? [];
  return node !== undefined && serviceAccountOf(name) !== undefined && own === node && others.length === 0;
}

/** The wanted user, if this mode allows it. Throws Forbidden. */
function impersonated(attempt: Attempt, wanted: User, attributes: AccessAttributes): User {
  const { requestor, policy, mode } = attempt;
  if (mode.name !== undefined) authorize(requestor, { ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` }, policy);
  const user = authorizedName(attempt, wanted);
  if (wanted.uid !== undefined) ask(attempt, { group: AUTHENTICATION_GROUP, resource: 'uids', name: wanted.uid });
  authorizeGroups(attempt, wanted.groups);
  authorizeExtra(attempt, wanted.extra ?? {});
  if (user.name === 'system:anonymous') return withGroup(user, 'system:unauthenticated');
  return user.groups.includes('system:unauthenticated') ? user : withGroup(user, 'system:authenticated');
}

/** Some users belong to groups by their name alone. */
function authorizedName(attempt: Attempt, wanted: User): User {
  const group = groupOf(attempt);
  const node = attempt.mode.name === undefined ? undefined : nodeOf(wanted.name);
  if (node !== undefined) {
    // Whoever may act as the node it runs on may do so on any node.
    ask(attempt, { group, resource: 'nodes', name: attempt.mode.name === ASSOCIATED_NODE ? '*' : node });
    return { ...wanted, groups: ['system:nodes'] };
  }
  const account = serviceAccountOf(wanted.name);
  if (account !== undefined) {
    ask(attempt, { group, resource: 'serviceaccounts', ...account });
    return wanted.groups.length === 0 ? { ...wanted, groups: serviceAccountGroups(account.namespace) } : wanted;
  }
  ask(attempt, { group, resource: 'users', name: wanted.name });
  return wanted;
}

function authorizeGroups(attempt: Attempt, groups: readonly string[]): void {
  const about = { group: groupOf(attempt), resource: 'groups' };
  if (attempt.mode.name !== undefined) {
    if (groups.includes('')) throw refusal(attempt, about, 'impersonating the empty string group is not allowed');
    if (groups.includes(SUPERUSERS)) {
      throw refusal(attempt, { ...about, name: SUPERUSERS }, 'impersonating the system:masters group is not allowed');
    }
    if (groups.length >= MANY && isAllowed(attempt, { ...about, name: '*' })) return;
  }
  for (const name of groups) ask(attempt, { ...about, name });
}

function authorizeExtra(attempt: Attempt, extra: Readonly<Record<string, readonly string[]>>): void {
  const about = { group: AUTHENTICATION_GROUP, resource: 'userextras' };
  const values = Object.entries(extra).flatMap(([key, names]) => names.map((name) => ({ subresource: key, name })));
  if (attempt.mode.name !== undefined) {
    const problem = extraProblem(extra);
    if (problem !== undefined) throw refusal(attempt, about, problem);
    if (values.length >= MANY && isAllowed(attempt, { ...about, subresource: '*', name: '*' })) return;
  }
  for (const value of values) ask(attempt, { ...about, ...value });
}

/** What a mode asks to impersonate. */
interface Aspect {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** The legacy permissions on users and groups are in the core group. */
function groupOf({ mode }: Attempt): string {
  return mode.name === undefined ? '' : AUTHENTICATION_GROUP;
}

function ask(attempt: Attempt, aspect: Aspect): void {
  authorize(attempt.requestor, attributesOf(attempt, aspect), attempt.policy);
}

function isAllowed(attempt: Attempt, aspect: Aspect): boolean {
  return decide(attempt.requestor, attributesOf(attempt, aspect), attempt.policy).allowed;
}

function refusal(attempt: Attempt, aspect: Aspect, why: string): Error {
  return accessForbidden(attempt.requestor, attributesOf(attempt, aspect), why);
}

function attributesOf({ mode }: Attempt, aspect: Aspect): AccessAttributes {
  const verb = mode.name === undefined ? 'impersonate' : `impersonate:${mode.name}`;
  return { type: 'resource', verb, subresource: '', name: '', namespace: '', ...aspect };
}
