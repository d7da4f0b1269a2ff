// Every case about the façade is named by a test, or it is said here why there is none.

import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const ANOTHER_MODEL = 'there are no grants on Clusters and no second review on the target: RBAC on the hub decides';
const WHY_NOT: Readonly<Record<number, string>> = {
  71: ANOTHER_MODEL,
  86: ANOTHER_MODEL,
  87: ANOTHER_MODEL,
  88: ANOTHER_MODEL,
  90: ANOTHER_MODEL,
};

const CASES = Array.from({ length: 125 }, (_, index) => index + 1);

/** Where the façade and its process are tested, and where a table begins its rows with the numbers of cases. */
const PLACES = /^(http\/.*|deploy\/process|real\/facade.*|contract\/(golden-)?facade.*)(?<!\/cases)\.test\.ts$/;
const TABLES = /^http\/tokens\/cases-[^/]+$/;

describe('the cases of the threat model about the façade', () => {
  it('are each named by a test, or explained', async () => {
    const named = await namedCases(new URL('../', import.meta.url));
    expect(CASES.filter((each) => !named.has(each) && !(each in WHY_NOT))).toEqual([]);
  });

  it('are explained only where no test names them', async () => {
    const named = await namedCases(new URL('../', import.meta.url));
    expect(CASES.filter((each) => named.has(each) && each in WHY_NOT)).toEqual([]);
  });
});

/** Numbers in the names of tests, such as `in case 12`, `(cases 110 and 111)`, or `'41: dots'` in a table; comments do not count. */
async function namedCases(folder: URL): Promise<ReadonlySet<number>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => PLACES.test(file));
  const found = files.map(async (file) => {
    const lines = (await readFile(new URL(file, folder), 'utf8')).split('\n').filter((line) => !/^\s*(\/\/|\/?\*)/.test(line));
    return lines.flatMap((line) =>
      [...line.matchAll(TABLES.test(file) ? IN_TABLE : IN_NAME)].flatMap(([text]) => text.match(/\d+/g) ?? []),
    );
  });
  return new Set((await Promise.all(found)).flat().map(Number));
}

const IN_NAME = /\bcases? (\d+)(?:(?:,| and) (\d+))*\b/g;
const IN_TABLE = new RegExp(`${IN_NAME.source}|['"\`](\\d{1,3}): `, 'g');
