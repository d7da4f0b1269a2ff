// The web UI at /ui/. Its files are public; the page reads the lists of the façade with the token of the user who logs in.

import { type Assets, redirectTo } from '../ui/assets.ts';
import type { PublicDocument } from './router.ts';

/** Returns the public documents of the page. */
export function createPageDocuments(assets: Assets): readonly PublicDocument[] {
  return [
    { path: '/ui', reply: () => redirectTo('/ui/') },
    {
      path: '/ui/*',
      reply: (request) =>
        assets.reply(request.params['*'] ?? '', {
          acceptEncoding: request.header('accept-encoding'),
          ifNoneMatch: request.header('if-none-match'),
        }),
    },
  ];
}
