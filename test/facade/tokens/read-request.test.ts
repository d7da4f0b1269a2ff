// A caller who posts the same again is answered as the first time; everything that the answer depends on tells requests apart.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';

let world: FacadeWorld;
beforeEach(async () => {
  world = await FacadeWorld.start();
});
afterEach(() => world.close());

const MISSPELT = { ...TOKEN_REQUEST, spec: { ...TOKEN_REQUEST.spec, expirationSecond: 600 } };

async function managerOf(userAgent: string, query = ''): Promise<unknown> {
  const { body } = await world.post(TOKEN_REQUEST, { path: `${TOKEN_PATH}${query}`, headers: { 'user-agent': userAgent } });
  const { metadata } = JSON.parse(body) as { metadata: { managedFields: readonly { manager: string }[] } };
  return metadata.managedFields[0]?.manager;
}

describe('the same request again', () => {
  it('is warned again', async () => {
    const answers = [await world.post(MISSPELT), await world.post(MISSPELT)];
    expect(answers.map(({ headers }) => headers['warning'])).toEqual(Array(2).fill('299 - "unknown field \\"spec.expirationSecond\\""'));
  });

  it('is refused again where its query says so', async () => {
    const strict = { path: `${TOKEN_PATH}?fieldValidation=Strict` };
    const answers = [await world.post(MISSPELT), await world.post(MISSPELT, strict), await world.post(MISSPELT, strict)];
    expect(answers.map(({ status }) => status)).toEqual([201, 400, 400]);
  });

  it('belongs to whoever sends it', async () => {
    expect([await managerOf('one/1'), await managerOf('two/1'), await managerOf('one/1')]).toEqual(['one', 'two', 'one']);
    expect([await managerOf('one/1', '?fieldManager=three'), await managerOf('one/1')]).toEqual(['three', 'one']);
  });

  it('issues nothing as a dry run, before and after', async () => {
    for (const query of ['', '?dryRun=All', '']) await world.post(TOKEN_REQUEST, { path: `${TOKEN_PATH}${query}` });
    expect(world.tokenRequests).toHaveLength(2);
  });

  it('is for the account of its path', async () => {
    const body = { ...TOKEN_REQUEST, metadata: { namespace: 'deploy' } };
    const elsewhere = { path: TOKEN_PATH.replace('/deploy/', '/other/') };
    const answers = [await world.post(body), await world.post(body, elsewhere)];
    expect(answers.map(({ status }) => status)).toEqual([201, 400]);
  });
});
