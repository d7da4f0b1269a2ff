// The labels of a namespace that say how secure its pods are. Pods are inert here, but a label that a cluster refuses is refused.

import { type FieldError, invalidValue } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { sameValue } from '../../same-value.ts';

const LEVELS: readonly string[] = ['privileged', 'baseline', 'restricted'];
/** A minor version is an int64 of Go. */
const VERSION = /^(latest|v1\.(0|[1-9]\d{0,17}))$/;

/** What is wrong with the labels of a namespace that is otherwise fine: faults that it has had before are forgiven. */
export function podSecurityErrors(namespace: KubeObject, old?: KubeObject): readonly FieldError[] {
  const errors = labelErrors(namespace);
  return old !== undefined && sameValue(errors, labelErrors(old)) ? [] : errors;
}

function labelErrors({ metadata: { labels = {} } }: KubeObject): readonly FieldError[] {
  return ['enforce', 'audit', 'warn'].flatMap((mode) => {
    const [name, versionName] = [`pod-security.kubernetes.io/${mode}`, `pod-security.kubernetes.io/${mode}-version`];
    const { [name]: level, [versionName]: version } = labels;
    return [
      ...(level === undefined || LEVELS.includes(level) ? [] : [labelError(name, level, `must be one of ${LEVELS.join(', ')}`)]),
      ...(version === undefined || VERSION.test(version) ? [] : [labelError(versionName, version, 'must be "latest" or "v1.x"')]),
    ];
  });
}

function labelError(name: string, value: string, problem: string): FieldError {
  return invalidValue(`metadata.labels[${name}]`, value, problem);
}
