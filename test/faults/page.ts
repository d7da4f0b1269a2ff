// Renders docs/faults.md from a complete run.

import type { Row } from './report.ts';
import { formatMarkdown, formatViolations } from './report.ts';

export interface RunDetails {
  readonly seed: number;
  readonly command: string;
  readonly machine: string;
  /** Figures of the tenant and renewal benches, in sentences. */
  readonly figures: readonly string[];
}

/** Returns the page: the table of faults, its explanation, and the command to reproduce it. */
export function renderPage(rows: readonly Row[], { seed, command, machine, figures }: RunDetails): string {
  const samples = rows.reduce((sum, row) => sum + row.samples, 0);
  const issued = rows.reduce((sum, row) => sum + row.issued, 0);
  const violations = rows.flatMap((row) => row.violations.map((violation) => ({ row, violation })));
  const found = rows.flatMap(({ id, violations: each }) => formatViolations(each).map((line) => `- ${id}: ${line.split('\n')[0]}`));
  return `# Behavior under faults

\`npm run faults\` runs Purser as a separate process with a real hub and two real target clusters (etcd and kube-apiserver on loopback).
A proxy in front of every API server refuses, resets, freezes, delays, throttles and cuts connections, responds in place of the
server, alters and truncates responses, and drops and holds requests. A prober, whose client bypasses all proxies, reads every
ManagedToken and Secret and verifies every token with a TokenReview on its target, about once a second. The bench records all events as
JSON lines and checks them afterwards.

The prober verified tokens ${samples.toLocaleString('en-US')} times, ${issued.toLocaleString('en-US')} tokens were issued, and ${violations.length === 0 ? 'no invariant was violated' : `${violations.length} violations were found`}.

${formatMarkdown(rows)}

${found.length === 0 ? '' : `Violations:\n\n${found.join('\n')}\n\n`}\
- **samples**: number of times that the prober read a token from a Secret, and verified the token on the target.
- **issued**: number of TokenRequests for which a target returned a token, including those for callers of the façade.
- **worst lateness**: longest delay between scheduled and actual renewal. Tokens have a lifetime of 600 s and are renewed after 60 to
  90 s, so even the latest renewal was minutes before expiry.
- **recovery**: time from the end of the fault until every token was valid, renewed in time and without a failure in its status. The
  limit is one minute (invariant I10), 90 s for F24 and F28, and two minutes for F12 and F39. In F12 and F39, Purser retries within a
  fifth of the remaining lifetime, because the target throttles Purser (F12) or Purser cannot detect the end of the fault (F39).

## Hostile tenants

\`npm run faults -- --only tenants --seed N --minutes M\` lets three hostile tenants act at random. Each draws permitted and forbidden
actions from its own grammar. The seed determines each tenant's sequence of actions.

| tenant | permissions | actions |
| --- | --- | --- |
| writer of ManagedTokens | \`purser-managedtoken-editor\` in two namespaces, all verbs on Secrets and service accounts there; one requester may issue tokens for \`one/deploy/deployer\`, and one in each namespace may issue tokens for the cluster \`slow\` | ManagedTokens for every cluster and service account, bursts of 26 ManagedTokens, objects near the size limit, forged finalizers, annotations, status and Secrets, deletion of ManagedTokens with a foreign finalizer, rapid rotation and revocation, deletion of its requester; 400 ManagedTokens that name one Secret; 40 ManagedTokens for the cluster \`slow\`, whose anchors are moved, removed and added (\`slow\` is the tenant's own API server, which responds after 9 s) |
| writer of Clusters | read and write permission on \`clusters\`, none on Secrets | Clusters with the address and CA of its own API server, alone, together with the correct ones, or for a narrower \`clientCIDR\`; aliases with another cluster's address and credential; references to credentials of other Clusters, to tenants' Secrets and to Purser's service account; deletion and re-creation |
| caller of the façade | \`issue\` on \`one/deploy/deployer\`, on \`two-dev\` (whose credential is limited to one namespace) and on \`dev\`, which is not registered | token requests for every cluster, namespace and service account, lifetimes up to 2³² s, malformed paths and headers, replayed tokens; list, get and watch requests for Clusters and ManagedTokens, with selectors, and with resource versions and continue tokens of other tenants; the writer of ManagedTokens also sends these requests |

The hostile tenants have their own API server, which responds plausibly and records every token that it receives. Well-behaved tenants
request rotations and tokens, and use the tokens in their Secrets with the addresses and CAs next to them. An administrator restores
the attacked Clusters every 9 s. The administrator also withdraws and restores permissions: those for \`BoundSecret\` tokens, including
tokens of the hostile writer of ManagedTokens, and the hostile caller's permission to see ManagedTokens of other tenants. Before the
attack, the same load runs without hostile tenants. The admission policies are not installed. With \`--write-status\`, the writer of
ManagedTokens also writes their status.

The writer of Clusters does not change \`one\` and \`two\`, on which the bench measures the well-behaved tenants: a user who may write a
Cluster can stop issuance for that Cluster. The bench does not check a hostile tenant's \`BoundSecret\` token after its ManagedToken is
deleted, because without the admission policies a tenant can remove Purser's finalizer.

## Renewal of Purser's credentials

\`npm run faults -- --only renewal --minutes M --seed N\` lets Purser renew its own credentials, which have lifetimes of ten minutes. On
a second hub, another Purser renews credentials of the same service account on target \`one\`. In addition to the Clusters of the bench,
there are four Clusters for each pair of a hub and a target. Their registered tokens expire after ten minutes too, so Purser loses
access to a cluster if a renewal fails permanently.

The bench injects one or two random faults at a time and, at the start of each fault, registers a new token, which Purser renews
immediately. The faults are:

- a hub or target that refuses connections, resets them, freezes or does not respond;
- renewal requests that are dropped, held or delayed, or whose responses are lost, truncated, altered or replaced with errors;
- an API server that is killed, or an etcd that stalls or is full;
- Purser killed or suspended at a random time, or killed before or after a renewal request.

A part of the bench acts as a thief: it keeps every renewed token that it finds in a Secret on a hub or in a request, including tokens that
Purser obtained but did not store because of a crash, and presents each token to its cluster, bypassing the proxies. The bench checks
invariants I19 and I20 with the thief's results.

${figures.map((line) => `- ${line}\n`).join('')}
## ManagedTokenSets

\`npm run faults -- --only sets --minutes M --seed N\` makes random changes during faults: to the labels of 16 Clusters, which are
aliases of the two targets, and to the templates and the requesters' permissions of two ManagedTokenSets. The faults are those of F56
that change no object; in addition, the bench kills Purser before or after a write of a set or of one of its ManagedTokens. An
observer, whose client bypasses all proxies, records the ManagedTokens and Secrets of both sets twice a second. After the faults of
each round, the sets must have exactly the ManagedTokens that labels and permissions require, all of them ready and from the current
template; an administrator confirms paused removals. Then the sets change again, without faults. The bench checks invariants I10, I21
and I22.

## Invariants

| | invariant | check |
| --- | --- | --- |
| I1 | a Ready ManagedToken has a token for the correct service account, which its target accepts; a repair of the Secret takes at most 12 s | every sample, with [exceptions](#exceptions) after changes to objects and signing keys |
| I2 | at most one issuance for each cause (creation, renewal, request or repair), and one more after a crash or a lost response | every TokenRequest at the proxies |
| I3 | after a restart with nothing due, Purser writes only the Lease and the status and events of Clusters | every write at the proxies |
| I4 | the expiry in a Secret never decreases | every sample |
| I5 | a fault in one target delays no renewal on the other target by more than 5 s | renewals on the other target |
| I6 | no 24 consecutive characters of a token's signature appear in logs, events, status, annotations, metrics or files | all of these, on all clusters, at the end of the run; for issued tokens and for all credentials that Purser sends |
| I7 | no token is issued without permission | every TokenRequest, against the history of permissions |
| I8 | memory is at most 300 MB and, in a process that runs for ten minutes or longer, grows by at most 30%; at most 150 file descriptors are open | kernel counters, every 5 s |
| I9 | the status of a ManagedToken is correct (Ready, transition times, observed generation); the conditions of a Cluster report a fault of its target within 40 s | every sample; the Cluster in F8, F11, F15 and F17 |
| I10 | all tokens recover within a minute after the end of a fault, or within the longer limit of some faults; Purser sends no excessive requests during the fault | every fault |
| I11 | Purser removes a Secret within 40 s after its permission is withdrawn; a revocable token becomes invalid in the same time, or at most 10 s later if the API server caches reviews | every sample; TokenReviews every 2 s |
| I12 | a valid token stays in its Secret, even if it cannot be renewed, unless its permission is withdrawn | every sample |
| I13 | hostile tenants hold no valid token for a service account and cluster that RBAC did not allow in the 10 s before issuance, no token for an audience that they did not request, and no valid token with a lifetime of more than a day | every token in façade responses and in the tenants' Secrets, by a TokenReview on all three clusters |
| I14 | no issued token and none of Purser's credentials reaches an address that is not pinned | all requests to the hostile tenants' API server; all bearer tokens at the proxies, renewed credentials included |
| I15 | a rotation that another tenant requests takes at most twice as long as the slowest one without hostile tenants, or 5 s longer if that is more | every rotation that well-behaved tenants request; the bench also sends the requests of a rotation without Purser, and adds twice their slowdown to the limit |
| I16 | with hostile tenants, memory is at most 512 MB, and falls after the attack to at most 120 MB above its maximum before; hostile tenants cause at most 700 metric series in addition to three for each ManagedToken, at most 600 error lines per minute, and lookups of one object's anchors in at most 32 namespaces | memory, metrics and logs, every 5 s; every request at the proxies |
| I17 | all addresses and CAs in Secrets are pinned | every change to the Secrets of ManagedTokens for Clusters under attack |
| I18 | no condition, event or response discloses an address, a credential or Purser's identity to a hostile tenant | all conditions, events and responses |
| I19 | a cluster refuses a replaced credential of Purser at most 30 s plus the overlap after its replacement, or after the end of the last fault if that is later | every renewed token in a Secret or in a request at the proxies; the thief presents it every second, and every 10 s after its refusal |
| I20 | a cluster accepts the renewed credential that is in use | every renewed token in a Secret, every 10 s |
| I21 | 40 s after its requester loses the permission for a Cluster, a ManagedTokenSet has no token for this Cluster; after two minutes, it has no ManagedToken for this Cluster unless the removal is paused; during faults, both times start a minute after the end of the faults | every ManagedToken and Secret of both sets, twice a second |
| I22 | a ManagedTokenSet removes at most ten of its ManagedTokens within a minute, or a third of them if that is more, unless a removal is confirmed | every ManagedToken of both sets, twice a second |
| I23 | the façade shows a hostile tenant no Cluster and no ManagedToken that RBAC did not let the tenant see during the request or in the 10 s before it | every list, get and watch request of the hostile tenants, with selectors and with each other's resource versions and continue tokens; an administrator grants and withdraws permissions at the same time |

## Exceptions

If the fault itself invalidates a token, the invalid token is not a violation. Scenarios declare such effects, and the checks exclude them:

- I1, I4, I9 and I12, for a token whose Secret, service account, bound object, Cluster, CRD or signing key was changed, deleted or
  replaced, until the time by which Purser must have repaired it (15 to 300 s; with random faults, 90 s after the deletion of a Secret);
- I2, I5 and I9, while Purser's clock is wrong; the bench then only limits the number of issuances;
- I2, if callers of the façade, hostile tenants, another hub or other ManagedTokens use the same service account;
- I19, while the machine that runs the bench is suspended;
- I8, with 500 watchers (F55), because each has a socket, and with hostile tenants, for which I16 applies.

For I2, every failed or disturbed TokenRequest or Secret write allows one more issuance.

\`test/faults/scenarios\` contains the faults under the IDs in the first table. \`npm run test:kube\` runs a short, seeded version of the
bench.

\`\`\`sh
npm run kube:build            # once: etcd, kube-apiserver and kube-controller-manager
npm run faults                # all faults; tenants, renewal, sets and F56 take ten minutes each
npm run faults -- --only F32  # SIGKILL before and after every request
npm run faults -- --only F56 --minutes 60 --seed 7
npm run faults -- --only tenants --minutes 10 --seed 7
npm run faults -- --only renewal --minutes 30 --seed 7
npm run faults -- --only sets --minutes 10 --seed 7
npm run faults -- --fault 'one lose tokens' --fault 'hub respond 503 secrets' --seconds 60  # custom faults; see --help
\`\`\`

## Source of the figures

All figures come from one run of \`${command}\`, seed ${seed}, on ${machine}.
`;
}
