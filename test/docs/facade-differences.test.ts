// Checks that every documented difference has a test. TESTED_BY lists the tests.

import { describe, expect, it } from '@jest/globals';
import { readText } from '../support/repository.ts';

const TOKENS = 'facade/tokens';
const LIST = 'facade/listwatch/list.test.ts';
const WATCH = 'facade/listwatch/watch.test.ts';
const HEADER = `${TOKENS}/authorization-header.test.ts`;
const BODY = `${TOKENS}/body.exhaustive.test.ts`;
const FRAMING = `${TOKENS}/framing.test.ts`;
const PATHS = `${TOKENS}/path.exhaustive.test.ts`;
const ABUSE = `${TOKENS}/limits.exhaustive.test.ts`;
const ISSUE = `${TOKENS}/issue.test.ts`;
const REJECTIONS = `${TOKENS}/rejections.test.ts`;
const RECORDED_TOKENS = 'contract/golden-facade-tokens.test.ts';
const RECORDED_LISTS = 'contract/golden-facade-lists.test.ts';

/** File and part of the test's title, by the first cell of the row. */
const TESTED_BY: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'no credentials': [HEADER, 'no header'],
  'credentials that the hub rejects': [HEADER, 'returns 401 for a rejected token: %s'],
  'more than one word, or invalid characters, after `Bearer`': [HEADER, 'text after the token'],
  'two `Authorization` headers': [HEADER, 'rejects two Authorization headers with 400'],
  '`Impersonate-*` or `X-Remote-*` with a bearer token': [FRAMING, 'rejects an impersonation header without a request to the target: %s'],
  "the bearer token is revoked, or the user's groups change, during a watch": [
    'facade/listwatch/token-checks.test.ts',
    'ends all streams of a revoked token within ten seconds',
  ],
  'more requests per second than `--facade-rate` allows': [ABUSE, 'limits one caller to --facade-rate'],
  'more than eight requests of one caller in progress': [ABUSE, 'serves eight requests of one caller at a time'],
  'more than 100 cached reviews of one caller expire per second': [
    'facade/authenticate.exhaustive.test.ts',
    'reviews 200 known tokens of one user at once',
  ],
  'many tokens that are new, or that the hub rejected in their last TokenReview': [ABUSE, 'reviews unknown tokens at a limited rate'],
  'no audiences': [BODY, 'no audiences'],
  'an audience of `--facade-audiences`': [BODY, 'rejects an audience that the façade accepts in the tokens of callers'],
  'an audience that begins with `purser:`': [BODY, 'rejects an audience that is reserved for tokens of Purser itself'],
  'an audience outside `--allowed-audiences`': [ISSUE, 'rejects audiences that the installation does not allow'],
  'a lifetime above `--max-token-lifetime` (24 hours by default)': [ISSUE, 'shortens a lifetime above the installation’s maximum'],
  '3607 seconds for a token bound to a Pod': [BODY, 'a lifetime that Kubernetes would extend to a year for a Pod'],
  'bound to a Node': [BODY, 'bound to a Node'],
  'bound to an unsupported kind, and another mistake or a missing service account': [
    BODY,
    'reports an unsupported kind of bound object before other mistakes',
  ],
  '`dryRun=All`': [ISSUE, 'warns in a dry run about objects that Purser may not read'],
  '`dryRun=All` in a namespace that does not exist': [ISSUE, 'rejects a dry run for missing objects'],
  '`fieldManager` of exactly 128 characters': [PATHS, "'m'.repeat(128)"],
  '`fieldManager` that is too long and not printable': [
    'kubernetes/wire/options.test.ts',
    'reports only the length of a manager that is too long',
  ],
  '`Content-Encoding` other than `identity`, or `charset` other than UTF-8 and US-ASCII': [BODY, 'UTF-16'],
  'size of the body': [BODY, 'JSON of more than 8 KiB'],
  'YAML with text after its first value': [BODY, 'rejects JSON that is sent as YAML with %s'],
  'U+0085, U+2028 or U+2029 in YAML, or CR without LF in YAML that is not JSON': [
    'kubernetes/wire/yaml/parse.test.ts',
    'line breaks other than LF and CR LF',
  ],
  'a quoted YAML string that continues on a line that is not indented more than its key': [
    'kubernetes/wire/yaml/parse.test.ts',
    '[\'a:\\n  b: "c\\nd"\'',
  ],
  '`?` directly before a key in YAML `{}` or `[]`, such as `{?a: 1}`': ['kubernetes/wire/yaml/parse.test.ts', "['{?a: 1}'"],
  'invalid YAML': ['kubernetes/wire/yaml/parse.test.ts', 'rejects %j'],
  'text in protobuf that is not UTF-8': ['kubernetes/wire/protobuf/envelope.test.ts', 'decodes invalid UTF-8 to replacement characters'],
  'a YAML body that is not JSON': [BODY, 'YAML of more than 1 KiB'],
  'a YAML alias (`*a`), including a merge key (`<<: *a`)': [BODY, 'rejects a YAML alias'],
  'a body of a kind that every API group has, such as `DeleteOptions` or `Status`, or of version `__internal`': [
    BODY,
    'rejects kinds that every API group has, and internal versions, as not registered',
  ],
  'a body of another registered kind, with fields that are invalid for that kind': [BODY, 'another kind with fields of a TokenRequest'],
  'nested lists and objects': ['kubernetes/wire/json-parse.test.ts', 'accepts a depth of up to 1,000'],
  '`metadata.managedFields` of the response': [`${TOKENS}/request-parser.test.ts`, 'carries no managedFields'],
  'more than 1,000 `metadata.ownerReferences`': [BODY, 'rejects 1,001 owner references'],
  '`Accept` with `as=PartialObjectMetadataList`': [REJECTIONS, 'rejects Accept for lists with 406, and issues no token'],
  "a service account in the namespace of Purser's own service account on the cluster": [
    BODY,
    'rejects a token request for Purser’s own service account',
  ],
  'a service account in a namespace that the `namespaces` key of the credential Secret does not list': [
    `${TOKENS}/authorization.test.ts`,
    'returns 403 for a namespace that the credential does not allow, without a request to the target',
  ],
  'no permission': [RECORDED_TOKENS, "'forbidden-beats-bad-body': forbidden"],
  'a cluster that is not registered': [`${TOKENS}/authorization.test.ts`, 'returns the same 403 for existing and missing clusters'],
  "the cluster does not respond, rejects Purser's credential, or does not permit Purser to issue the token": [
    `${TOKENS}/target-responses.test.ts`,
    'hides errors about Purser’s credential',
  ],
  'the last probe of the controller did not reach the cluster': [
    REJECTIONS,
    'returns 503 without a request to the target after a recent failed probe',
  ],
  '`Cache-Control` of a response with a token': [ISSUE, 'sends Cache-Control: no-store with a token'],
  'no permission to list': [RECORDED_LISTS, 'returns an empty list to callers without permissions'],
  'the ManagedTokens of all namespaces, with permission to list them in some namespaces': [
    'contract/facade-client-node.test.ts',
    'receives changes to %s and to permissions from the façade',
  ],
  'fields of a Cluster': ['facade/clusters/cluster-list.exhaustive.test.ts', 'returns no field outside the allow-list'],
  "`reason` and `message` of a Cluster's conditions": [
    'facade/clusters/cluster-list.test.ts',
    'replaces the stored message with the sentence of the reason',
  ],
  'fields of a ManagedToken': [
    'facade/managed-tokens/managed-token-list.test.ts',
    'returns exactly the public fields of an object with every field of the CRD',
  ],
  'a ManagedToken above 16 KiB, or one of the largest above 4 KiB in a namespace whose ManagedTokens take more than 64 MiB': [
    'contract/managed-token-informers.test.ts',
    'keeps a ManagedToken above 16 KiB without its labels',
  ],
  'the first request for ManagedTokens, or the first after ten minutes without requests and watches': [
    'facade/listwatch/on-demand.test.ts',
    'returns 503 if the first list takes more than five seconds, and returns the objects once it completes',
  ],
  'the hub forbids Purser to list or watch ManagedTokens, Roles or RoleBindings, or sends no event for one of these resources for five minutes':
    ['facade/listwatch/on-demand.test.ts', 'ends watches and stops the informers after five minutes without an event for informer %i'],
  '`metadata.selfLink` of a list': [RECORDED_LISTS, '"metadata":\\{"continue":""'],
  'the last page of a list with a selector': [LIST, 'returns no continue token after the last selected cluster'],
  '`remainingItemCount`': [LIST, 'counts remaining visible clusters'],
  '`resourceVersion`': [LIST, 'returns versions with the hub’s revisions, which are the same on all replicas'],
  '`resourceVersion` that cannot be parsed, on get and watch': [WATCH, 'returns 400 for a watch from a version that is not a number'],
  'a request for one object with `as=PartialObjectMetadataList` in `Accept`': [LIST, 'returns 400 for a get as PartialObjectMetadataList'],
  'permissions change during a watch': [WATCH, 'sends DELETED for hidden and ADDED for newly visible clusters'],
  '`resourceVersion` of ManagedTokens, if `--namespaces` lists more than one namespace': [
    'facade/managed-tokens/namespaces.test.ts',
    'responds with 410 to a watch from a version of another replica',
  ],
  '`continue` of another replica, or after a change of permissions': [
    RECORDED_LISTS,
    'rejects continue tokens from before the start of the façade as expired',
  ],
  '`labelSelector` or `fieldSelector` above 1 KiB, or both together with more than 32 requirements or 64 values': [
    LIST,
    'returns 400 for selectors above the limits',
  ],
  '`timeoutSeconds` of a list': [LIST, 'returns 504 if the hub does not review permissions within timeoutSeconds'],
  'a watch with a `timeoutSeconds` that is negative or above 9,223,372,036': [WATCH, 'after an hour with the largest timeout'],
  'a watch longer than an hour': [WATCH, 'after an hour at most'],
  'more watches, or more unread bytes of large lists, than the limits per caller or in total allow': [
    LIST,
    'rejects a list with 429 while too many large lists are in progress',
  ],
  'unread events of watches above the limits per caller or in total': [
    WATCH,
    'limits the unread events of a caller, and writes to other callers in the meantime',
  ],
  'a client that reads a large list or initial events at less than 64 KiB/s': [
    LIST,
    'closes the connection of a reader who takes one slice in five seconds',
  ],
  'connection after a list above 1 MiB': [LIST, 'closes the connection after a large list'],
  'connection after a watch': [WATCH, 'announces that the connection closes after a watch'],
  '`Vary`': [RECORDED_LISTS, 'forbids shared caching, and varies by Authorization'],
  'path with `//`, `..`, `%2F`, a trailing slash, or invalid names': [
    PATHS,
    'returns 404 for an invalid path without a request to the target',
  ],
  'a method that is not served': [PATHS, 'returns 405 for a method other than POST'],
  'a method other than `GET` on `/openapi/v3`': ['facade/openapi.test.ts', 'with 405 and the allowed method'],
  '`HEAD` with `watch=true`': ['facade/server.test.ts', 'rejects HEAD with 405 if GET would be a watch'],
  'a watch over WebSocket': ['facade/server.test.ts', 'responds to a watch over WebSocket with a plain stream'],
  'a request target in absolute form, such as `https://host/path`': [PATHS, 'another host and the path of the endpoint'],
  'non-ASCII bytes in the request target that are not percent-encoded': [PATHS, 'non-ASCII bytes'],
  'a path that is not served': [ABUSE, 'returns 404 to authenticated callers'],
  'bytes that are not an HTTP request, a malformed `Host` header, or two `Host` headers': [
    'facade/server.test.ts',
    'responds to all earlier pipelined requests before it rejects a malformed one',
  ],
  '`Accept` with only protobuf': [REJECTIONS, 'rejects Accept for only protobuf with 406'],
  '`Accept` with protobuf and JSON': [REJECTIONS, 'returns JSON for Accept with protobuf and JSON'],
  'headers above 16 KiB': [HEADER, 'rejects a token of 20 kB with 431'],
  'more than 64 media types in `Accept`': ['kubernetes/wire/accept.test.ts', 'ignores media types after the first 64'],
  'a request that does not arrive within 9 seconds': [BODY, 'returns 408 for a body that does not arrive within ten seconds'],
  'more than 32 pipelined requests on one HTTP/1.1 connection': [
    'facade/server.test.ts',
    'serves 32 of 40 pipelined requests, then closes the connection',
  ],
  'unread responses to requests that are rejected before they reach an endpoint, and to requests for public documents': [
    'facade/server.test.ts',
    'closes the oldest connection of a client that does not read public documents',
  ],
  'more than 32 HTTP/2 connections from one source address, or 256 in total': [
    'facade/http2.exhaustive.test.ts',
    'selects HTTP/1.1 for an address with more than 32 connections, and HTTP/2 for other addresses',
  ],
};

describe('docs/facade-differences.md', () => {
  it('lists exactly the differences that have tests', () => {
    const lines = readText('docs/facade-differences.md').split('\n');
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.split(' | ')[0]?.slice(2) ?? '');
    expect(cells.filter((cell) => cell !== 'case')).toEqual(Object.keys(TESTED_BY));
  });

  it.each(Object.entries(TESTED_BY))('has a test for %s', (_case, [file, words]) => {
    expect(readText(`test/${file}`)).toContain(words);
  });
});
