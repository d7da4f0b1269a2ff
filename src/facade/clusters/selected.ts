// What the query of a list or a watch asks for.

import { parseSelectors, Selection } from '../../kubernetes/selection.ts';
import { listOptions, validateListOptions } from '../../kubernetes/wire/list-options.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { FacadeRequest } from '../request.ts';
import { CLUSTER_KIND } from './cluster-kind.ts';

export interface Selected {
  readonly options: ListOptions;
  readonly selection: Selection;
}

/** 400 and 422 in the order in which an API server looks. */
export function selected({ query }: Pick<FacadeRequest, 'query'>, { watch }: { readonly watch: boolean }): Selected {
  const parsed = listOptions(query);
  const selectors = parseSelectors(parsed.labelSelector, parsed.fieldSelector);
  const options = validateListOptions(parsed, { watch });
  return { options, selection: new Selection(CLUSTER_KIND, selectors, '') };
}
