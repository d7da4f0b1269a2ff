// Tokens through the façade, compared with tokens directly from kube-apiserver.

import { runScript } from '../child-process.ts';
import { atMost, type Scenario } from '../scenario.ts';

interface Cost {
  readonly tokensPerSecond: number;
  readonly cpuMsPerToken: number;
}

/** Figures that `tokens.ts` prints and the scenario uses. */
interface TokenFigures {
  readonly http2: ProtocolFigures;
  readonly http1: ProtocolFigures;
}

interface ProtocolFigures {
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
  sizeUnit: 'callers',
  sizes: { small: 16, full: 16 },
  note: `Figures without a protocol are for HTTP/2. The bare proxy uses the HTTP servers of Node.js, like the façade, and forwards requests
to kube-apiserver without parsing, authentication or checks. It is the lower bound for any façade on these servers. The proxy in Go is
\`httputil.ReverseProxy\` of the standard library, which also forwards all requests. Over HTTP/2, all callers share one connection, as in
client-go; over HTTP/1.1, each caller has its own connection.`,
  run: async ({ scale, size: callers }, progress) => {
    const [seconds, rounds] = scale === 'full' ? [8, 5] : [5, 3];
    progress(`${callers} callers, ${rounds} rounds of ${seconds} s`);
    const measured = await runScript<TokenFigures>('tokens.ts', [callers, seconds, rounds]);
    const { http2, http1 } = measured;
    return {
      measured,
      figures: [
        {
          name: 'CPU of the façade, relative to a proxy in Go, over HTTP/2',
          value: http2.cpuRatioToGoProxy,
          unit: '×',
          goal: atMost(GO_RATIO),
        },
        {
          name: 'CPU of the façade, relative to a proxy in Go, over HTTP/1.1',
          value: http1.cpuRatioToGoProxy,
          unit: '×',
          goal: atMost(GO_RATIO),
        },
        { name: 'CPU of the façade, relative to kube-apiserver', value: http2.cpuPercentOfKube, unit: '%' },
        { name: 'CPU of a bare proxy, relative to kube-apiserver', value: http2.bareProxyPercentOfKube, unit: '%' },
        { name: 'throughput, relative to direct requests', value: http2.throughputPercentOfDirect, unit: '%' },
        { name: 'throughput, relative to a bare proxy', value: http2.throughputPercentOfBareProxy, unit: '%' },
      ],
      charts: [
        {
          name: 'facade-tokens',
          title: 'CPU of one token over HTTP/2',
          unit: 'ms',
          bars: [
            { label: 'façade', value: http2.facade.cpuMsPerToken },
            { label: 'proxy in Go', value: http2.goProxy.cpuMsPerToken },
            { label: 'bare proxy', value: http2.bareProxy.cpuMsPerToken },
            { label: 'kube-apiserver', value: http2.direct.cpuMsPerToken },
          ],
        },
      ],
    };
  },
};
