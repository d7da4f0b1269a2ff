// Says after `npm test` what it left out, and how to run it.

import { kubeBinaries } from '../support/kube-binaries.ts';
import { hasPrometheus } from '../support/prometheus.ts';

const build = kubeBinaries() === undefined ? '`npm run kube:build` (once, needs Go, takes minutes) and then ' : '';
console.log(`Not run: the suite against a real kube-apiserver. To run it: ${build}\`npm run test:kube\`.`);
if (!hasPrometheus()) console.log('That suite needs Prometheus and promtool, too: install the package `prometheus`.');
