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

The prober verified tokens ${samples} times, ${issued} tokens were issued, and ${violations.length === 0 ? 'no invariant was violated' : `${violations.length} invariants were violated`}.

${formatMarkdown(rows)}

${found.length === 0 ? '' : `Violations:\n\n${found.join('\n')}\n\n`}\
- **samples**: number of times that the prober verified a token in its Secret with the target.
- **issued**: number of TokenRequests for which a target returned a token, including those for callers of the façade.
- **worst lateness**: longest delay between planned and actual renewal. Tokens have a lifetime of 600 s and are renewed after 60 to
  90 s, so even the latest renewal was minutes before expiry.
- **recovery**: time from the end of the fault until every token was valid, renewed in time and without a failure in its status. The
  limit is one minute (invariant I10). For F12 and F39 it is two minutes: Purser retries within a fifth of the remaining lifetime, because
  the target throttles Purser (F12), or because Purser cannot detect the end of the fault (F39).

## Hostile tenants

\`npm run faults -- --only tenants --seed N --minutes M\` lets three hostile tenants act at random, each from a grammar of everything
that its permissions allow. The seed determines each tenant's sequence of actions.

| tenant | permissions | actions |
| --- | --- | --- |
| writer of ManagedTokens | \`purser-managedtoken-editor\` in two namespaces, all verbs on Secrets and service accounts there; one requester may issue tokens of \`one/deploy/deployer\` | ManagedTokens for every cluster and service account, bursts of 26, objects near the size limit, forged finalizers, annotations, status and Secrets, deletion under a foreign finalizer, rapid rotation and revocation, deletion of its requester |
| writer of Clusters | all verbs on \`clusters\`, none on Secrets | addresses and CAs of its own API server, also in addition to the correct ones and for a narrower \`clientCIDR\`; aliases with another cluster's address and credential; credentials of other Clusters, Secrets of tenants, kind ServiceAccount; deletion and re-creation |
| caller of the façade | \`issue\` on \`one/deploy/deployer\`, on \`two-dev\` (whose credential names one namespace) and on \`dev\`, which is not registered | token requests for every cluster, namespace and service account, lifetimes up to 2³² s, malformed paths and headers, replayed tokens; lists, gets and watches of Clusters and ManagedTokens, with selectors and with versions and continue tokens of other tenants; the writer of ManagedTokens also sends these lists, gets and watches |

The hostile tenants have their own API server, which responds plausibly and records every token that it receives. Well-behaved tenants
request rotations and tokens, and use the tokens in their Secrets with the addresses and CAs next to them. An administrator restores the
attacked Clusters every 9 s, and withdraws and restores the permissions for \`BoundSecret\` tokens, including the hostile tenant's own, and
the caller's permission to see ManagedTokens of others. The same load runs without hostile tenants first. The admission policies are not
installed. With \`--write-status\`, the first tenant also writes the status of its ManagedTokens.

The writer of Clusters does not change \`one\` and \`two\`, where the bench measures the other tenants: a user who may delete a Cluster can
stop issuance for it. The bench does not check a tenant's own \`BoundSecret\` token after its ManagedToken is deleted, because without the
admission policies a tenant can remove Purser's finalizer.

## Renewal of Purser's credentials

\`npm run faults -- --only renewal --minutes M --seed N\` lets Purser renew its own credentials with lifetimes of ten minutes. A second
hub, with its own Purser, renews credentials of the same service account on target \`one\`. In addition to the Clusters of the bench, there
are four Clusters for each pair of a hub and a target. Their registered tokens expire after ten minutes too, so a renewal that fails permanently loses access to the cluster.

The bench injects one or two random faults at a time, and registers a new token during each fault, which Purser renews immediately. The
faults are:

- a hub or target that refuses connections, resets them, freezes or does not respond;
- responses to renewal requests that are lost, delayed, truncated, altered or replaced with errors;
- an API server that is killed, and etcd that stalls or is full;
- Purser killed or suspended at a random time, or killed before or after a renewal request.

A part of the bench acts as a thief: it keeps every renewed token that it finds in a Secret on a hub or in a request, including tokens that
Purser obtained but did not store because of a crash, and presents each token to its cluster, bypassing the proxies. The bench checks
invariants I19 and I20 with the thief's results.

${figures.map((line) => `- ${line}\n`).join('')}
## ManagedTokenSets

\`npm run faults -- --only sets --minutes M --seed N\` changes two ManagedTokenSets at random while faults happen: the labels of
their 16 Clusters, which are aliases of the two targets, the templates, and the permissions of the requesters. The faults are those of F56,
and Purser is killed before or after a write of a set or of its ManagedTokens. An observer, whose client bypasses all proxies, records the
ManagedTokens and Secrets of both sets twice a second. After the faults of each round, the sets must have exactly the ManagedTokens that
labels and permissions require, all of them ready and from the current template; an administrator confirms paused removals. Then the
sets change again, without faults. The bench checks invariants I10, I21 and I22.

## Invariants

| | invariant | check |
| --- | --- | --- |
| I1 | a ManagedToken that is Ready has a token of the correct service account that its target accepts | every sample; after a change to a service account or signing key, within the verification interval (20 s here) |
| I2 | one issuance for each cause: creation, renewal, request, repair; one more for a crash or a lost response | every TokenRequest at the proxies |
| I3 | a restart with nothing due writes only the Lease | every write at the proxies |
| I4 | the expiry in a Secret never decreases | every sample |
| I5 | a fault of one cluster delays no renewal on another cluster by more than 5 s | renewals on the other cluster |
| I6 | no part of a token (24 characters of its signature) appears in logs, events, status, annotations, metrics or files | all of these, on all hubs, at the end of the run; for issued tokens and for all credentials that Purser sends |
| I7 | no token is issued without permission | every TokenRequest, against the history of permissions |
| I8 | memory stays below 300 MB and file descriptors below 150, without growth | kernel counters, every 5 s |
| I9 | the status is correct (Ready, transition times, observed generation) and shows a change of a cluster within 40 s | every sample |
| I10 | all tokens recover within a minute after the end of a fault, and Purser sends no excessive requests in the meantime | every fault |
| I11 | a withdrawn permission removes the Secret within 40 s; a revocable token becomes invalid, at most 10 s later if the API server caches reviews | every sample; TokenReviews every 2 s |
| I12 | a valid token stays in its Secret while it cannot be renewed | every sample |
| I13 | hostile tenants hold no token that a cluster accepts for a service account, cluster or audience that RBAC did not allow within 10 s of its issuance, and no token with a lifetime of more than a day | every token in façade responses and in the tenants' Secrets, by a TokenReview on all three clusters |
| I14 | no issued token and none of Purser's credentials reaches an address that is not pinned | all requests to the hostile tenants' API server; all bearer tokens at the proxies, renewed credentials included |
| I15 | hostile tenants delay no requested rotation of another tenant beyond twice the worst delay without them, or 5 s more | every rotation that well-behaved tenants request; the bench sends the same requests itself, and allows twice their slowdown in addition |
| I16 | hostile tenants cannot raise memory above 512 MB or keep it raised by 120 MB, and cannot cause 700 metric series in addition to three for each ManagedToken, 600 error lines per minute or lookups of one object's anchors in 32 namespaces | memory, metrics and logs, every 5 s; every request at the proxies |
| I17 | Secrets hold only pinned addresses and CAs | every change to the Secrets of Clusters under attack |
| I18 | no condition, event or response discloses an address, a credential or Purser's identity to a hostile tenant | all conditions, events and responses |
| I19 | a cluster refuses a replaced credential of Purser after at most the overlap plus 30 s, from its replacement or from the end of the last fault | every renewed token in a Secret or in a request at the proxies; the thief presents it every second, and every 10 s after its refusal |
| I20 | a cluster accepts the renewed credential that is in use | every renewed token in a Secret, every 10 s |
| I21 | after its requester has lost the permission for a Cluster, a ManagedTokenSet has no token for the Cluster after 40 s, and no ManagedToken after two minutes unless the removal is paused; during faults, these times start a minute after the end of the faults | every ManagedToken and Secret of both sets, twice a second |
| I22 | a ManagedTokenSet removes at most ten of its ManagedTokens within a minute, or a third if that is more, unless a removal is confirmed | every ManagedToken of both sets, twice a second |
| I23 | the façade shows a hostile tenant no Cluster and no ManagedToken that RBAC did not let the tenant see within 10 s of the request | every list, get and watch of the tenants, with selectors, versions and continue tokens of each other; an administrator grants and withdraws permissions in the meantime |

## Exceptions

A fault that itself invalidates a token is not a violation by Purser. Scenarios declare such effects, and the checks exclude them:

- I1, I9 and I12, for a token whose Secret, service account, bound object, Cluster, CRD or signing key was deleted or replaced, until the
  time by which Purser must have repaired it (15 to 120 s; with random faults, 90 s after the deletion of a Secret);
- I2, I5 and I9, while Purser's clock is wrong; the bench then only counts issuances;
- I2, if callers of the façade, hostile tenants or another hub use the same service account;
- I19, for the time in which the machine of the bench was suspended;
- I8, with 500 watchers, each of which has a socket, and with hostile tenants, for which I16 applies.

For I2, every failed or disturbed TokenRequest or Secret write allows one more issuance.

\`test/faults/scenarios\` contains the faults under the names in the first table. \`npm run test:kube\` runs a short, seeded version of the
bench.

\`\`\`sh
npm run kube:build            # once: etcd, kube-apiserver and kube-controller-manager
npm run faults                # all faults, then ten minutes of random faults
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
