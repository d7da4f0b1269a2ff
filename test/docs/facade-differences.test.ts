// Every difference that is documented is held by a test, which is named here.

import { describe, expect, it } from '@jest/globals';
import { readText } from '../support/repository.ts';

const TOKENS = 'facade/tokens';
const LIST = 'facade/listwatch/list.test.ts';
const WATCH = 'facade/listwatch/watch.test.ts';
const HEADER = `${TOKENS}/authorization-header.test.ts`;
const BODY = `${TOKENS}/body.test.ts`;
const FRAMING = `${TOKENS}/framing.test.ts`;
const PATHS = `${TOKENS}/path.test.ts`;
const ABUSE = `${TOKENS}/limits.test.ts`;
const ISSUE = `${TOKENS}/issue.test.ts`;
const REFUSALS = `${TOKENS}/rejections.test.ts`;
const RECORDED_TOKENS = 'contract/golden-facade-tokens.test.ts';
const RECORDED_LISTS = 'contract/golden-facade-lists.test.ts';

/** By the first cell of the row: the file, and words of the test. */
const HELD_BY: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'no credentials': [HEADER, '1: no header'],
  'more than one word, or odd characters, behind `Bearer`': [HEADER, '6: something behind the token'],
  'two `Authorization` headers': [HEADER, 'comes once, in case 7'],
  '`Impersonate-*` or `X-Remote-*` with a bearer token': [FRAMING, 'is refused, and nothing is sent, in case %s'],
  'the bearer token is revoked, or its user has other groups, during a watch': [
    'facade/listwatch/token-checks.test.ts',
    'ends within ten seconds, whenever that happens',
  ],
  'more requests than `--facade-rate`': [ABUSE, 'is cut to the rate that is set'],
  'more than eight requests of one caller in progress': [ABUSE, 'has eight in progress, and delays no other caller'],
  'many tokens that are not known yet': [ABUSE, 'unknown tokens reaches the hub at a limited rate'],
  'no audiences': [BODY, '73: no audiences'],
  'an audience of `--facade-audiences`': [BODY, 'in case 75'],
  'an audience outside of `--allowed-audiences`': [ISSUE, 'refuses audiences that the installation does not allow'],
  'longer than `--max-token-lifetime` (24 hours by default)': [ISSUE, 'shortens what exceeds the ceiling'],
  '3607 seconds for a token bound to a Pod': [BODY, '72: an hour for a Pod that would be a year'],
  'bound to a Node': [BODY, '76: bound to a Node'],
  '`dryRun=All`': [ISSUE, 'warns in a dry run of what Purser may not read'],
  '`dryRun=All` where there is no such namespace': [ISSUE, 'refuses what it finds missing'],
  '`fieldManager` of exactly 128 characters': [PATHS, "'m'.repeat(128)"],
  '`fieldManager` that is too long and cannot be printed': [
    'kubernetes/wire/options.test.ts',
    'says of a manager that is too long only that',
  ],
  '`Content-Encoding` of the body, `charset=utf-16`': [BODY, '59: UTF-16'],
  'a body of YAML that is not JSON': [BODY, '61: YAML of more than 16 KiB'],
  'lists and objects inside each other': ['kubernetes/wire/json-parse.test.ts', 'allows a depth of 1,000 and no more'],
  '`metadata.managedFields` of the response': [`${TOKENS}/token-request.test.ts`, 'carries no managedFields'],
  'more than 1,000 `metadata.ownerReferences`': [BODY, 'has an end, too: 1,001 owners'],
  '`Accept` of protobuf alone': [REFUSALS, 'is not protobuf, and those who want nothing else are told what there is'],
  '`Accept` with `as=PartialObjectMetadataList`': [REFUSALS, 'is no list, for which nothing is issued'],
  "Purser's own account on the cluster": [BODY, 'in case 79'],
  'no permission': [RECORDED_TOKENS, "'forbidden-beats-bad-body': forbidden"],
  'a cluster that is not registered': [`${TOKENS}/authorization.test.ts`, 'cannot tell whether a cluster exists, in case 81'],
  'the cluster does not answer, or refuses Purser': [
    `${TOKENS}/target-responses.test.ts`,
    'is not what the target thinks of us, in case 98',
  ],
  'the controller has just found that the cluster cannot be reached': [REFUSALS, 'is left alone while that is news, in case 92'],
  '`Cache-Control` of an answer with a token': [ISSUE, 'lets nobody keep a token on its way'],
  'no permission to list': [RECORDED_LISTS, 'is empty for those without rights'],
  'fields of a Cluster': ['facade/clusters/public.property.test.ts', 'never leaves, whatever a Cluster holds'],
  "`reason` and `message` of a Cluster's conditions": [
    'facade/clusters/public-cluster.test.ts',
    'replaces the stored message with the sentence of the reason',
  ],
  '`metadata` of a list': [RECORDED_LISTS, '"metadata":\\{"continue":""'],
  '`remainingItemCount`': [LIST, 'count what the caller may see'],
  '`resourceVersion`': [LIST, 'carries the hub’s numbers for those who see everything'],
  'rights change during a watch': [WATCH, 'takes away what is lost and shows what is gained'],
  '`continue` of another replica, or of other rights': [RECORDED_LISTS, 'does not go back to what was before it was there'],
  '`timeoutSeconds` of a list': [LIST, 'ends with 504 when the hub does not say so in the time that the caller gives'],
  'a watch longer than an hour': [WATCH, 'after an hour, whatever is asked for'],
  'more full lists at a time, or more watches, than the limits of one caller or of all': [
    LIST,
    'is refused with 429 while too many of them are under way',
  ],
  'a reader of a full list or of initial events slower than 64 KiB/s': [LIST, 'ends for a reader who takes one slice every five seconds'],
  'connection after a list above 1 MiB': [LIST, 'closes its connection'],
  '`Vary`': [RECORDED_LISTS, 'says what it depends on (case 117)'],
  'path with `//`, `..`, `%2F`, a trailing slash, or names that are none': [PATHS, 'is answered by 404, and nothing is sent'],
  'a method that is not served': [PATHS, 'other than POST is answered by 405'],
  '`HEAD` with `watch=true`': ['facade/server.test.ts', 'is refused where GET would be a watch'],
  'a path that is not served': [ABUSE, 'are not found by those who are known'],
  'headers of more than 16 KiB': [HEADER, 'is not 20 kB long, in case 9'],
  'a request that takes longer than 10 seconds to arrive': [BODY, 'comes within ten seconds, in case 62'],
  'HTTP/2': [FRAMING, 'is not offered in TLS, in case 40'],
};

describe('docs/facade-differences.md', () => {
  it('has exactly the differences that tests hold', () => {
    const lines = readText('docs/facade-differences.md').split('\n');
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.split(' | ')[0]?.slice(2) ?? '');
    expect(cells.filter((cell) => cell !== 'case')).toEqual(Object.keys(HELD_BY));
  });

  it.each(Object.entries(HELD_BY))('is right about %s', (_case, [file, words]) => {
    expect(readText(`test/${file}`)).toContain(words);
  });
});
