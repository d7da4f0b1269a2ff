// The embedded API server as a separate process, for tests that kill it: `node api-server-process.ts FOLDER`.
// Sends the URL and the CA of the server to the parent process, and exits with the parent process.

import { startApiServer } from '../../apiserver/server.ts';
import { TEST_USERS } from './users.ts';

const [folder = ''] = process.argv.slice(2);
const server = await startApiServer({ folder, port: 0, issuer: 'https://hub.test', tokens: TEST_USERS, report: console.error });
process.send?.({ url: server.url, ca: server.ca });
process.on('disconnect', () => process.exit());
