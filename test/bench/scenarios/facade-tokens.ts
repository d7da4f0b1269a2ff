// Tokens through the façade beside tokens straight from kube-apiserver.

import { atLeast, atMost, type Scenario } from '../scenario.ts';
import { runScript } from '../script.ts';

interface Cost {
  readonly tokensPerSecond: number;
  readonly cpuMsPerToken: number;
}

/** What `tokens.ts` prints, as far as it is shown. */
interface TokenFigures {
  readonly direct: Cost;
  readonly facade: Cost;
  readonly bareProxy: Cost;
  readonly cpuPercentOfKube: number;
  readonly bareProxyPercentOfKube: number;
  readonly throughputPercentOfDirect: number;
  readonly throughputPercentOfBareProxy: number;
}

export const facadeTokens: Scenario = {
  name: 'facade-tokens',
  title: 'Tokens through the façade',
  what: 'connections',
  sizes: { small: 16, full: 16 },
  note: `The bare proxy is an HTTPS server of Node.js, which the façade also uses, that forwards to kube-apiserver without parsing,
authentication or checks. It is the lower bound for any façade on that server.`,
  run: async ({ scale, size: connections }, tell) => {
    const [seconds, rounds] = scale === 'full' ? [8, 5] : [5, 3];
    tell(`${connections} connections, ${rounds} rounds of ${seconds} s`);
    const measured = await runScript<TokenFigures>('tokens.ts', [connections, seconds, rounds]);
    const { direct, facade, bareProxy } = measured;
    return {
      measured,
      figures: [
        { name: 'CPU of the façade, relative to kube-apiserver', value: measured.cpuPercentOfKube, unit: '%', goal: atMost(10) },
        { name: 'CPU of a bare proxy, relative to kube-apiserver', value: measured.bareProxyPercentOfKube, unit: '%' },
        { name: 'throughput, relative to direct requests', value: measured.throughputPercentOfDirect, unit: '%', goal: atLeast(90) },
        { name: 'throughput, relative to a bare proxy', value: measured.throughputPercentOfBareProxy, unit: '%' },
      ],
      charts: [
        {
          name: 'facade-tokens',
          title: 'CPU of one token',
          unit: 'ms',
          bars: [
            { label: 'façade', value: facade.cpuMsPerToken },
            { label: 'bare proxy', value: bareProxy.cpuMsPerToken },
            { label: 'kube-apiserver', value: direct.cpuMsPerToken },
          ],
        },
      ],
    };
  },
};
