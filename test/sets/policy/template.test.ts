import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { SetAnnotation } from '../../../src/api/names.ts';
import { validateDns1123Subdomain, validateLabelValue } from '../../../src/kubernetes/names.ts';
import { type RenderedToken, recordedTemplateDigestOf, renderToken, toChildName } from '../../../src/sets/policy/template.ts';
import { aSet } from '../set-builder.ts';

function rendered(...args: Parameters<typeof renderToken>): RenderedToken {
  const rendering = renderToken(...args);
  if ('problem' in rendering) throw new Error(rendering.problem);
  return rendering.rendered;
}

const names = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,100}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,2}$/);

describe('toChildName', () => {
  it('joins the names of set and cluster', () => {
    expect(toChildName('fleet', 'prod-eu')).toBe('fleet-prod-eu');
  });

  it('returns a valid name that differs for different clusters, no matter how long their names are', () => {
    fc.assert(
      fc.property(names, names, names, (set, a, b) => {
        const long = `${set}.${'x'.repeat(60)}`;
        expect(validateDns1123Subdomain(toChildName(long, a))).toEqual([]);
        if (a !== b) expect(toChildName(long, a)).not.toBe(toChildName(long, b));
      }),
    );
  });
});

describe('renderToken', () => {
  it('replaces placeholders in names, labels and annotations', () => {
    const set = aSet({
      metadata: { labels: { a: 'x-{{cluster}}' }, annotations: { b: '{{label "env"}} {{label "absent"}}.' } },
      secret: {
        name: '{{cluster}}-{{label "env"}}',
        labels: { c: '{{label "env"}}' },
        annotations: { d: '{{cluster}}{{cluster}}' },
        outputs: ['Token'],
      },
    });
    const { spec, labels, annotations } = rendered(set, { name: 'eu', labels: { env: 'prod' } });
    expect(spec).toEqual({
      ...set.spec.template.spec,
      clusterName: 'eu',
      secret: { name: 'eu-prod', labels: { c: 'prod' }, annotations: { d: 'eueu' }, outputs: ['Token'] },
    });
    expect([labels, annotations['b']]).toEqual([{ a: 'x-eu' }, 'prod .']);
  });

  it('does not replace placeholders in values of labels', () => {
    const set = aSet({ metadata: { annotations: { a: '{{label "x"}}' } } });
    expect(rendered(set, { name: 'eu', labels: { x: '{{cluster}}' } }).annotations['a']).toBe('{{cluster}}');
  });

  it('does not read properties of the prototype as labels', () => {
    const set = aSet({ metadata: { annotations: { a: '{{label "constructor"}}' } } });
    expect(rendered(set, { name: 'eu', labels: {} }).annotations['a']).toBe('');
  });

  it('omits the name of the Secret if the template has none', () => {
    expect(rendered(aSet(), { name: 'eu' }).spec.secret).toEqual({ outputs: ['Token'] });
  });

  it.each([
    [
      'the name of the Secret',
      { secret: { name: '{{cluster}}-{{label "env"}}', outputs: ['Token' as const] } },
      'spec.secret.name is "eu-"',
    ],
    ['a label', { metadata: { labels: { a: '-{{label "env"}}' } } }, 'metadata.labels[a] is "-"'],
    ['a long annotation', { metadata: { annotations: { a: '{{cluster}}'.repeat(93).padEnd(1_023, 'x') } } }, undefined],
    ['a longer annotation', { metadata: { annotations: { a: `{{label "l"}}${'x'.repeat(1_000)}` } } }, 'metadata.annotations[a] is'],
  ])('reports a result only if it is invalid: %s', (_, template, problem) => {
    const rendering = renderToken(aSet(template), { name: 'eu', labels: { l: 'y'.repeat(63) } });
    if (problem === undefined) expect(rendering).toHaveProperty('rendered');
    else expect(rendering).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('shortens long names and label values to valid ones', () => {
    fc.assert(
      fc.property(names, (name) => {
        const set = aSet({
          metadata: { labels: { a: '{{cluster}}' } },
          secret: { name: `{{cluster}}.${'y'.repeat(63)}.{{cluster}}`, outputs: ['Token'] },
        });
        const { spec, labels } = rendered(set, { name });
        expect(validateDns1123Subdomain(spec.secret.name ?? '')).toEqual([]);
        expect(validateLabelValue(labels['a'] ?? '')).toEqual([]);
      }),
    );
  });

  it('returns the same digest for the same result, and a different one for another label or template', () => {
    const set = aSet({ secret: { labels: { a: '{{label "a"}}' }, outputs: ['Token'] } });
    const digest = (of: typeof set, labels: Readonly<Record<string, string>>) =>
      rendered(of, { name: 'eu', labels }).annotations[SetAnnotation.templateDigest];
    const [one, same, other, unused] = [{ a: '1' }, { a: '1' }, { a: '2' }, { a: '1', b: '2' }].map((labels) => digest(set, labels));
    expect([same, unused]).toEqual([one, one]);
    expect(other).not.toBe(one);
    const templates = [one, other, digest(aSet(), {})].map((value) =>
      recordedTemplateDigestOf({ annotations: { [SetAnnotation.templateDigest]: value ?? '' } }),
    );
    expect(new Set(templates).size).toBe(2);
  });
});
