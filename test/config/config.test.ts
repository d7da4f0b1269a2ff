import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '../../src/config/config.ts';
import { StartError } from '../../src/config/start-error.ts';
import { configOf } from '../support/run-purser.ts';

describe('parseConfig', () => {
  it('returns defaults for all settings without arguments', () => {
    expect(parseConfig(new Map(), {})).toEqual({
      kubeConfig: undefined,
      dataDir: '.purser',
      apiPort: 7443,
      facadePort: 7444,
      facadePath: 'orchestrator',
      facadeAudiences: [],
      facadeDefaultAudiences: [],
      facadeAnnotations: [],
      facadeRate: 100,
      facadeHttp2: true,
      facadeUi: true,
      facadeTlsCert: undefined,
      facadeTlsKey: undefined,
      metricsPort: 7445,
      metricsAuth: undefined,
      metricsTls: false,
      bindAddress: undefined,
      clusters: 1,
      samples: true,
      readyFile: undefined,
      logLevel: undefined,
      namespace: 'purser-system',
      namespaces: undefined,
      installCrds: false,
      components: ['controller', 'facade'],
      credentialNamespaces: ['purser-system'],
      protectedNamespaces: ['kube-system', 'kube-public', 'kube-node-lease'],
      maxExpirationSeconds: 86_400,
      allowedAudiences: undefined,
      httpsProxy: undefined,
      noProxy: undefined,
      verifyIntervalMs: 900_000,
      probeIntervalMs: 10_000,
      accessIntervalMs: 60_000,
      hubCluster: undefined,
      allowLoopback: false,
      localOnly: [],
      unknownVariables: [],
    });
  });

  it.each([
    ['--data-dir', ['--data-dir', '/tmp/x'], { dataDir: '/tmp/x' }],
    ['a value after an equals sign', ['--data-dir=a b'], { dataDir: 'a b' }],
    ['a value that looks like an option, after an equals sign', ['--data-dir=--x'], { dataDir: '--x' }],
    ['--api-port', ['--api-port', '65535'], { apiPort: 65_535 }],
    ['port 0 for a free port', ['--api-port=0', '--facade-port=0', '--metrics-port=0'], { apiPort: 0, facadePort: 0, metricsPort: 0 }],
    ['--clusters 0', ['--clusters', '0'], { clusters: 0 }],
    ['--no-samples', ['--no-samples'], { samples: false }],
    ['--no-facade-http2', ['--no-facade-http2'], { facadeHttp2: false }],
    ['--no-facade-ui', ['--no-facade-ui'], { facadeUi: false }],
    ['--ready-file', ['--ready-file', 'f.json'], { readyFile: 'f.json' }],
    ['--namespace, including for credentials', ['--namespace', 'tokens'], { namespace: 'tokens', credentialNamespaces: ['tokens'] }],
    ['--credential-namespaces', ['--credential-namespaces', 'a,b'], { namespace: 'purser-system', credentialNamespaces: ['a', 'b'] }],
    ['--protected-namespaces', ['--protected-namespaces', 'kube-system,vault'], { protectedNamespaces: ['kube-system', 'vault'] }],
    ['--namespaces', ['--namespaces', 'team-a,team-b'], { namespaces: ['team-a', 'team-b'] }],
    ['--components', ['--components', 'facade'], { components: ['facade'] }],
    ['--install-crds', ['--install-crds'], { installCrds: true }],
    ['--verify-interval', ['--verify-interval', '1h30m'], { verifyIntervalMs: 5_400_000 }],
    ['--max-token-lifetime', ['--max-token-lifetime', '1h'], { maxExpirationSeconds: 3_600 }],
    ['--allowed-audiences', ['--allowed-audiences', 'api,https://vault'], { allowedAudiences: ['api', 'https://vault'] }],
    ['namespaces without duplicates', ['--namespaces', 'team-a,team-b,team-a'], { namespaces: ['team-a', 'team-b'] }],
    ['namespaces with whitespace around them', ['--namespaces', ' team-a, team-b '], { namespaces: ['team-a', 'team-b'] }],
    [
      'audiences without whitespace and duplicates',
      ['--allowed-audiences', 'https://a, https://b ,https://a'],
      { allowedAudiences: ['https://a', 'https://b'] },
    ],
    ['components with whitespace around them', ['--components', 'facade, controller'], { components: ['controller', 'facade'] }],
    ['--probe-interval', ['--probe-interval', '5s'], { probeIntervalMs: 5_000 }],
    ['--verify-interval 0', ['--verify-interval', '0'], { verifyIntervalMs: 0 }],
    ['--hub-cluster', ['--hub-cluster', 'hub'], { hubCluster: 'hub' }],
    ['a Cluster name with dots', ['--hub-cluster', 'hub.eu'], { hubCluster: 'hub.eu' }],
    ['--facade-tls-secret', ['--facade-tls-secret', 'facade.tls'], { facadeTlsSecret: 'facade.tls' }],
    ['--allow-loopback', ['--allow-loopback'], { allowLoopback: true }],
    ['--log-level', ['--log-level', 'trace'], { logLevel: 'trace' }],
    ['the last of several occurrences', ['--clusters', '2', '--clusters', '3'], { clusters: 3 }],
  ])('accepts %s', async (_name, args, expected) => {
    expect(await configOf(['dev', ...args])).toMatchObject(expected);
  });

  it.each([
    ['an unknown option', ['--nope'], "unknown option '--nope'"],
    ['a misspelled option', ['--facade-prot', '1'], "unknown option '--facade-prot'; did you mean --facade-port?"],
    ['an option with transposed letters', ['--clustres', '2'], "unknown option '--clustres'; did you mean --clusters?"],
    ['a misspelled option with a value', ['--clustres=2'], "unknown option '--clustres'; did you mean --clusters?"],
    ['a short option', ['-x'], "unknown option '-x'"],
    [
      'an invalid namespace',
      ['--credential-namespaces', 'a,B'],
      '--credential-namespaces must be a comma-separated list of namespaces, not "a,B"',
    ],
    [
      'an unknown component',
      ['--components', 'facade,webhook'],
      '--components must be a comma-separated list of controller, facade, not "facade,webhook"',
    ],
    ['an empty list of namespaces', ['--namespaces', ','], '--namespaces must be a comma-separated list of namespaces, not ","'],
    [
      'a duration without a unit',
      ['--verify-interval', '15'],
      '--verify-interval must be 0 or a duration of at least 1s, for example 15m or 1h30m, not "15"',
    ],
    [
      'a duration below one second',
      ['--verify-interval', '1ms'],
      '--verify-interval must be 0 or a duration of at least 1s, for example 15m or 1h30m, not "1ms"',
    ],
    [
      'a probe interval of 0',
      ['--probe-interval', '0'],
      '--probe-interval must be a duration of at least 1s, for example 10s or 1m30s, not "0"',
    ],
    [
      'a token lifetime below ten minutes',
      ['--max-token-lifetime', '9m'],
      '--max-token-lifetime must be a duration of at least 10m, for example 24h, not "9m"',
    ],
    ['an empty list of audiences', ['--allowed-audiences', ','], '--allowed-audiences must be a comma-separated list, not ","'],
    ...['facade-audiences', 'facade-default-audiences', 'allowed-audiences'].map((name): [string, string[], string] => [
      `a reserved audience in --${name}`,
      [`--${name}`, 'api,purser:https://a'],
      `--${name} must be a comma-separated list of audiences that do not begin with purser:, not "api,purser:https://a"`,
    ]),
    ['audiences of whitespace only', ['--allowed-audiences', ' , '], '--allowed-audiences must be a comma-separated list, not " , "'],
    ['an empty list of components', ['--components', ','], '--components must be a comma-separated list of controller, facade, not ","'],
    [
      'an invalid Cluster name',
      ['--hub-cluster', 'Not A/Name'],
      '--hub-cluster must be a name: at most 253 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends, not "Not A/Name"',
    ],
    [
      'an invalid Secret name',
      ['--facade-tls-secret', '../x'],
      '--facade-tls-secret must be a name: at most 253 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends, not "../x"',
    ],
    ['the name of a JavaScript built-in', ['--constructor'], "unknown option '--constructor'"],
    ['a flag without its prefix no-', ['--samples'], "unknown option '--samples'; did you mean --no-samples?"],
    ['a missing value', ['--data-dir'], '--data-dir needs a value: --data-dir DIR'],
    ['an empty value', ['--ready-file='], '--ready-file needs a value: --ready-file FILE'],
    ['an option in place of a value', ['--ready-file', '--help'], '--ready-file needs a value: --ready-file FILE'],
    ['a value for a flag', ['--no-samples=yes'], '--no-samples takes no value'],
    ['a second command', ['run'], 'unexpected argument "run". With npm, write options after --'],
    ['a positional argument', ['2'], 'unexpected argument "2". With npm, write options after --'],
    ['a port that is not a number', ['--api-port', 'https'], '--api-port must be an integer from 0 to 65535, not "https"'],
    ['a port above 65535', ['--facade-port', '65536'], '--facade-port must be an integer from 0 to 65535, not "65536"'],
    ['a negative port', ['--metrics-port', '-1'], '--metrics-port must be an integer from 0 to 65535, not "-1"'],
    ['a fraction', ['--clusters', '0.5'], '--clusters must be an integer from 0 to 100, not "0.5"'],
    [
      'the same port for two listeners',
      ['--api-port', '9000', '--metrics-port', '9000'],
      '--api-port and --metrics-port are both 9000. Choose different ports',
    ],
  ])('rejects %s', async (_name, args, problem) => {
    await expect(configOf(['dev', ...args])).rejects.toThrow(new Error(`purser: ${problem} (for help, run purser dev --help)\n`));
  });

  it('ignores the port of the local API server in a run on a cluster', async () => {
    expect(await configOf(['run', '--facade-port', '7443'])).toMatchObject({ facadePort: 7443 });
  });

  it('lists all invalid values on one line', async () => {
    await expect(configOf(['run', '--facade-rate', '-1', '--clusters', 'x'], { PURSER_LOG_LEVEL: 'loud' })).rejects.toThrow(
      'purser: --facade-rate must be an integer from 0 to 1000000, not "-1". --clusters must be an integer from 0 to 100, not "x". ' +
        'PURSER_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud" (for help, run purser run --help)\n',
    );
  });

  it.each([
    ['a port', { PURSER_METRICS_PORT: '1' }, { metricsPort: 1 }],
    ['a list of namespaces', { PURSER_PROTECTED_NAMESPACES: 'a,b' }, { protectedNamespaces: ['a', 'b'] }],
    ['a flag that is true', { PURSER_ALLOW_LOOPBACK: 'true' }, { allowLoopback: true }],
    ['a flag that is false', { PURSER_NO_SAMPLES: 'false' }, { samples: true }],
    ['a proxy', { HTTPS_PROXY: 'http://a:1', NO_PROXY: 'b,c' }, { httpsProxy: 'http://a:1', noProxy: 'b,c' }],
    ['a proxy in lowercase variables, without a scheme', { https_proxy: 'a:1', no_proxy: '*' }, { httpsProxy: 'http://a:1', noProxy: '*' }],
    ['the default for an empty variable', { PURSER_NAMESPACE: '' }, { namespace: 'purser-system' }],
    ['the default instead of a service link', { PURSER_METRICS_PORT: 'tcp://10.0.0.1:7445' }, { metricsPort: 7445 }],
    ['an option of the local run', { PURSER_CLUSTERS: '2' }, { clusters: 2, localOnly: ['PURSER_CLUSTERS'] }],
  ])('reads %s from the environment', (_name, env, expected) => {
    expect(parseConfig(new Map(), env)).toMatchObject(expected);
  });

  it.each(['socks5://user:pass@a:1', 'http://'])('rejects the proxy %s without repeating its URL', (httpsProxy) => {
    expect(() => parseConfig(new Map(), { HTTPS_PROXY: httpsProxy })).toThrow(
      new StartError('HTTPS_PROXY (or https_proxy) must be an http or https URL'),
    );
  });

  it('prefers the command line over the environment', async () => {
    expect(await configOf(['dev', '--clusters', '3'], { PURSER_CLUSTERS: 'x' })).toMatchObject({ clusters: 3, localOnly: ['--clusters'] });
  });

  it('names the variables with invalid values', () => {
    expect(() => parseConfig(new Map(), { PURSER_ALLOW_LOOPBACK: 'yes', PURSER_API_PORT: 'x' })).toThrow(
      'PURSER_API_PORT must be an integer from 0 to 65535, not "x". PURSER_ALLOW_LOOPBACK must be true or false, not "yes"',
    );
  });

  it('returns KUBECONFIG and lists options that apply to the local run only', async () => {
    const config = await configOf(['run', '--clusters', '2', '--facade-port', '0', '--no-samples'], {
      KUBECONFIG: '/a:/b',
      PURSER_LOG_LEVEL: 'debug',
    });

    expect(config).toMatchObject({ kubeConfig: '/a:/b', logLevel: 'debug', localOnly: ['--clusters', '--no-samples'] });
  });

  it('treats an empty KUBECONFIG as unset', () => {
    expect(parseConfig(new Map(), { KUBECONFIG: '' }).kubeConfig).toBeUndefined();
  });

  it('returns a frozen object', () => {
    expect(Object.isFrozen(parseConfig(new Map(), {}))).toBe(true);
  });
});
