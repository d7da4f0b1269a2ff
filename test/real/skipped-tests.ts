// Prints after `npm test` which tests did not run, and how to run them.

import { kubeBinaries } from '../support/kube-binaries.ts';
import { hasPrometheus } from '../support/prometheus.ts';

console.log('Exhaustive tests ran few cases of each kind. To run all: `npm run test:exhaustive`.');
const build = kubeBinaries() === undefined ? '`npm run kube:build` (once, needs Go, takes minutes) and then ' : '';
console.log(`Tests against a real kube-apiserver did not run. To run them: ${build}\`npm run test:kube\`.`);
if (!hasPrometheus()) console.log('These tests also need Prometheus and promtool: install the `prometheus` package.');
