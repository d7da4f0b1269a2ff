import { describe, expect, it } from '@jest/globals';
import { FailureReason } from '../../../src/api/reasons.ts';
import { tokenFailure } from '../../../src/tokens/policy/messages.ts';
import { aToken } from '../../support/builders.ts';

const token = aToken().build();
const RESPONSE =
  'admission "quota" denied User "system:serviceaccount:purser-system:purser" from 10.1.2.3:6443, [fd00::1]:443 and https://prod.internal/x';
const RELAYING = ['RequestRejected', 'SecretReadFailed', 'SecretWriteFailed'];
const REASONS = Object.keys(FailureReason) as (keyof typeof FailureReason)[];

describe('tokenFailure', () => {
  it.each(REASONS)('returns a sentence without users and addresses for %s', (reason) => {
    const { message } = tokenFailure(reason, token, RESPONSE);
    expect(message).toMatch(/^[A-Z].*\.$/);
    expect(message).not.toMatch(/purser-system|10\.1\.2\.3|fd00|prod\.internal/);
  });

  it.each(REASONS.filter((reason) => !RELAYING.includes(reason)))('ignores the message of a response for %s', (reason) => {
    expect(tokenFailure(reason, token, RESPONSE)).toEqual(tokenFailure(reason, token));
  });

  it.each(REASONS.filter((reason) => !RELAYING.includes(reason)))('adds a second sentence with the remedy for %s', (reason) => {
    expect(tokenFailure(reason, token).message).toMatch(/\. [A-Z].*\.$/);
  });

  it.each(RELAYING as (keyof typeof FailureReason)[])(
    'includes the message of a response about an object of the tenant for %s',
    (reason) => {
      expect(tokenFailure(reason, token, RESPONSE).message).toContain('admission "quota" denied User "[redacted]"');
    },
  );

  it("keeps the user names of the requester and of the token's service account", () => {
    const users = 'system:serviceaccount:team-a:default, system:serviceaccount:deploy:deployer';
    expect(tokenFailure('RequestRejected', token, users).message).toContain(users);
  });
});
