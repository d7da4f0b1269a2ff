// Templates of the page. Values are always text or elements: no template can add markup from a response.

import htm from 'htm';
import { h, type VNode } from 'preact';

/** Returns the element of a template. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: readonly unknown[]) => VNode;

/** Content of an element: another element, a string, or nothing. */
export type Child = VNode | string | undefined;
