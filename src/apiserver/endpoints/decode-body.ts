// The body of a write as an object of the endpoint's kind.

import { reviewKinds } from '../kinds/reviews.ts';
import type { KubeObject } from '../object.ts';
import type { ApiRequest } from '../request.ts';
import type { Api } from '../verbs/api.ts';
import type { BodyMediaType } from '../wire/content-type.ts';
import { decodeObject, type ExpectedKind } from '../wire/decode.ts';
import type { FieldValidation } from '../wire/options.ts';

export interface Body {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly kind: ExpectedKind;
  readonly fieldValidation: FieldValidation;
}

/** Decodes; unknown and repeated fields are refused, told to the caller, or ignored. Throws 400. */
export function decodeBody(api: Api, { warn }: ApiRequest, { kind, ...body }: Body): KubeObject {
  const { object, warnings } = decodeObject({
    ...body,
    kind,
    defaultKind: kind.builtIn,
    isRegistered: (group, version, name) =>
      api.registry.isRegistered(group, version, name) ||
      (version === 'v1' && reviewKinds.some((each) => each.group === group && each.kind === name)),
  });
  warnings.forEach(warn);
  return object;
}
