// Tokens through the façade, compared with tokens directly from kube-apiserver.

import { runScript } from '../child-process.ts';
import { atMost, type Scenario } from '../scenario.ts';

interface Cost {
  readonly tokensPerSecond: number;
  readonly cpuMsPerToken: number;
}

/** Figures that `tokens.ts` prints and the scenario uses. */
interface TokenFigures {
  readonly direct: Cost;
  readonly facade: Cost;
  readonly bareProxy: Cost;
  readonly goProxy: Cost;
  readonly cpuRatioToGoProxy: number;
  readonly cpuPercentOfKube: number;
  readonly bareProxyPercentOfKube: number;
  readonly throughputPercentOfDirect: number;
  readonly throughputPercentOfBareProxy: number;
}

/** Goal for the CPU of the façade, relative to the proxy in Go, which performs no authentication. */
const GO_RATIO = 1.6;

export const facadeTokens: Scenario = {
  name: 'facade-tokens',
  title: 'Tokens through the façade',
  sizeUnit: 'connections',
  sizes: { small: 16, full: 16 },
  note: `The bare proxy uses the same HTTPS server of Node.js as the façade, and forwards requests to kube-apiserver without parsing,
authentication or checks. It is the lower bound for any façade on that server. The proxy in Go is \`httputil.ReverseProxy\` of the standard
library, which forwards all requests.`,
  run: async ({ scale, size: connections }, progress) => {
    const [seconds, rounds] = scale === 'full' ? [8, 5] : [5, 3];
    progress(`${connections} connections, ${rounds} rounds of ${seconds} s`);
    const measured = await runScript<TokenFigures>('tokens.ts', [connections, seconds, rounds]);
    const { direct, facade, bareProxy, goProxy } = measured;
    return {
      measured,
      figures: [
        { name: 'CPU of the façade, relative to a proxy in Go', value: measured.cpuRatioToGoProxy, unit: '×', goal: atMost(GO_RATIO) },
        { name: 'CPU of the façade, relative to kube-apiserver', value: measured.cpuPercentOfKube, unit: '%' },
        { name: 'CPU of a bare proxy, relative to kube-apiserver', value: measured.bareProxyPercentOfKube, unit: '%' },
        { name: 'throughput, relative to direct requests', value: measured.throughputPercentOfDirect, unit: '%' },
        { name: 'throughput, relative to a bare proxy', value: measured.throughputPercentOfBareProxy, unit: '%' },
      ],
      charts: [
        {
          name: 'facade-tokens',
          title: 'CPU of one token',
          unit: 'ms',
          bars: [
            { label: 'façade', value: facade.cpuMsPerToken },
            { label: 'proxy in Go', value: goProxy.cpuMsPerToken },
            { label: 'bare proxy', value: bareProxy.cpuMsPerToken },
            { label: 'kube-apiserver', value: direct.cpuMsPerToken },
          ],
        },
      ],
    };
  },
};
