// Tokens through the façade beside tokens straight from kube-apiserver.

import { atLeast, atMost, type Scenario } from '../scenario.ts';
import { runScript } from '../script.ts';

/** What `tokens.ts` prints, as far as it is shown. */
interface TokenFigures {
  readonly direct: { readonly tokensPerSecond: number; readonly kubeMsPerToken: number };
  readonly facade: { readonly tokensPerSecond: number; readonly purserMsPerToken: number };
  readonly cpuPercentOfKube: number;
  readonly throughputPercentOfDirect: number;
}

export const facadeTokens: Scenario = {
  name: 'facade-tokens',
  title: 'Tokens through the façade',
  run: async (scale, tell) => {
    const [connections, seconds, rounds] = scale === 'full' ? [16, 8, 5] : [16, 5, 3];
    tell(`${connections} connections, ${rounds} rounds of ${seconds} s`);
    const measured = await runScript<TokenFigures>('tokens.ts', [connections, seconds, rounds]);
    const { direct, facade, cpuPercentOfKube, throughputPercentOfDirect } = measured;
    return {
      measured,
      figures: [
        { name: 'CPU of the façade to that of kube-apiserver', value: cpuPercentOfKube, unit: '%', goal: atMost(10) },
        { name: 'throughput to direct', value: throughputPercentOfDirect, unit: '%', goal: atLeast(90) },
      ],
      charts: [
        {
          name: 'facade-tokens',
          title: 'CPU of one token',
          unit: 'ms',
          bars: [
            { label: 'façade', value: facade.purserMsPerToken },
            { label: 'kube-apiserver', value: direct.kubeMsPerToken },
          ],
        },
      ],
    };
  },
};
