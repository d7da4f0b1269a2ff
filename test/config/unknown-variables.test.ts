import { describe, expect, it } from '@jest/globals';
import { unknownVariables } from '../../src/config/unknown-variables.ts';

describe('unknownVariables', () => {
  it.each([
    ['a letter too many', 'PURSER_VERIFY_INTERVALL', 'PURSER_VERIFY_INTERVALL (PURSER_VERIFY_INTERVAL?)'],
    ['letters that changed places', 'PURSER_LOG_LEVLE', 'PURSER_LOG_LEVLE (PURSER_LOG_LEVEL?)'],
    ['a word break too few', 'PURSER_HUBCLUSTER', 'PURSER_HUBCLUSTER (PURSER_HUB_CLUSTER?)'],
    ['two that are as near', 'PURSER_NAMESPACEX', 'PURSER_NAMESPACEX'],
    ['none that is near', 'PURSER_TOKENS', 'PURSER_TOKENS'],
    ['an option of the command line alone', 'PURSER_VERSION', 'PURSER_VERSION'],
    ['a port that is no address of a Service', 'PURSER_FACADE_PRT', 'PURSER_FACADE_PRT (PURSER_FACADE_PORT?)'],
  ])('names a variable with %s', (_name, variable, expected) => {
    expect(unknownVariables({ [variable]: '1' })).toEqual([expected]);
  });

  it.each([
    ['options', { PURSER_VERIFY_INTERVAL: '1h', PURSER_METRICS_PORT: 'tcp://10.0.0.1:7445' }],
    ['others', { KUBECONFIG: '/a', PURSERS: '1', MY_PURSER_X: '1' }],
    ['nothing', { PURSER_VERIFY_INTERVALL: '' }],
    [
      'a Service called purser',
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
      'a Service called purser-dns',
      {
        PURSER_DNS_SERVICE_HOST: 'fd00::1',
        PURSER_DNS_SERVICE_PORT_DNS_UDP: '53',
        PURSER_DNS_PORT: 'udp://[fd00::1]:53',
        PURSER_DNS_PORT_53_UDP_ADDR: 'fd00::1',
      },
    ],
  ])('does not name those of %s', (_name, env) => {
    expect(unknownVariables(env)).toEqual([]);
  });
});
