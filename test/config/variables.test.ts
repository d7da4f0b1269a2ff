import { describe, expect, it } from '@jest/globals';
import { listUnknownVariables } from '../../src/config/variables.ts';

describe('listUnknownVariables', () => {
  it.each([
    ['an extra letter', 'PURSER_VERIFY_INTERVALL', 'PURSER_VERIFY_INTERVALL (PURSER_VERIFY_INTERVAL?)'],
    ['transposed letters', 'PURSER_LOG_LEVLE', 'PURSER_LOG_LEVLE (PURSER_LOG_LEVEL?)'],
    ['a missing underscore', 'PURSER_HUBCLUSTER', 'PURSER_HUBCLUSTER (PURSER_HUB_CLUSTER?)'],
    ['two similar options', 'PURSER_NAMESPACEX', 'PURSER_NAMESPACEX'],
    ['no similar option', 'PURSER_TOKENS', 'PURSER_TOKENS'],
    ['the name of --version', 'PURSER_VERSION', 'PURSER_VERSION'],
    ['a missing letter in a port option', 'PURSER_FACADE_PRT', 'PURSER_FACADE_PRT (PURSER_FACADE_PORT?)'],
  ])('returns a variable with %s', (_name, variable, expected) => {
    expect(listUnknownVariables({ [variable]: '1' })).toEqual([expected]);
  });

  it.each([
    ['variables of options', { PURSER_VERIFY_INTERVAL: '1h', PURSER_METRICS_PORT: 'tcp://10.0.0.1:7445' }],
    ['variables of other programs', { KUBECONFIG: '/a', PURSERS: '1', MY_PURSER_X: '1' }],
    ['an empty variable', { PURSER_VERIFY_INTERVALL: '' }],
    [
      'service links of the Service purser',
      {
        PURSER_SERVICE_HOST: '10.0.0.1',
        PURSER_SERVICE_PORT: '443',
        PURSER_SERVICE_PORT_HTTPS: '443',
        PURSER_PORT: 'tcp://10.0.0.1:443',
        PURSER_PORT_443_TCP: 'tcp://10.0.0.1:443',
        PURSER_PORT_443_TCP_PROTO: 'tcp',
        PURSER_PORT_443_TCP_PORT: '443',
        PURSER_PORT_443_TCP_ADDR: '10.0.0.1',
      },
    ],
    [
      'service links of the Service purser-dns',
      {
        PURSER_DNS_SERVICE_HOST: 'fd00::1',
        PURSER_DNS_SERVICE_PORT_DNS_UDP: '53',
        PURSER_DNS_PORT: 'udp://[fd00::1]:53',
        PURSER_DNS_PORT_53_UDP_ADDR: 'fd00::1',
      },
    ],
  ])('ignores %s', (_name, env) => {
    expect(listUnknownVariables(env)).toEqual([]);
  });
});
