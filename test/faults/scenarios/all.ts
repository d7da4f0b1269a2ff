// The fault matrix, in the order in which it is run: what breaks most comes last.

import type { NotTried, Scenario } from '../scenario.ts';
import { crashFaults } from './crash.ts';
import { hubFaults } from './hub.ts';
import { leadershipFaults } from './leadership.ts';
import { objectFaults } from './objects.ts';
import { processFaults } from './process.ts';
import { targetFaults } from './targets.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...targetFaults,
  ...hubFaults,
  ...processFaults,
  ...leadershipFaults,
  ...crashFaults,
  ...objectFaults,
];

/** What is not tried here, and why. */
export const NOT_TRIED: readonly NotTried[] = [
  { id: 'F40', title: '50,000 tokens with the same expiry', why: 'a matter of size: `npm run bench` measures rotation and growth' },
  { id: 'F41', title: 'restart with 50,000 tokens', why: 'a matter of size: `npm run bench` measures restarts' },
  { id: 'F50', title: 'policy for grants removed', why: 'void: permissions are RBAC, asked at every issuance (O1)' },
  {
    id: 'F52',
    title: 'name servers fail or answer otherwise',
    why: 'needs a name server for the process; `test/kube` has one for the client',
  },
  { id: 'F53', title: 'façade: hub down', why: 'not yet: façade' },
  { id: 'F54', title: 'façade: replica killed under load', why: 'not yet: façade' },
  { id: 'F55', title: 'façade: 2,000 watchers, hub restarted', why: 'not yet: façade' },
  { id: 'F58', title: 'two hubs manage the same target', why: 'not yet' },
];
