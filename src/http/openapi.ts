// The OpenAPI v3 document of the façade.

import { textReply } from '../apimachinery/reply.ts';
import { negotiateDocument } from '../apimachinery/wire/negotiate.ts';
import type { PublicDocument } from './server.ts';

/** The document, for a façade whose clusters are below `path`. */
export function openApiDocument(path: string): PublicDocument {
  const text = JSON.stringify({ openapi: '3.0.0', info: { title: 'Purser', version: 'v1alpha1' }, paths: { [`/${path}`]: {} } });
  return { path: '/openapi/v3', reply: ({ preferences }) => textReply(200, text, negotiateDocument(preferences, { routed: false })) };
}
