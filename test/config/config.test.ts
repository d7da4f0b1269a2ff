import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '../../src/config/config.ts';
import { StartError } from '../../src/config/start-error.ts';

describe('parseConfig', () => {
  it('has a default for everything', () => {
    expect(parseConfig([], {})).toEqual({
      command: undefined,
      help: false,
      version: false,
      kubeConfig: undefined,
      dataDir: '.purser',
      apiPort: 7443,
      facadePort: 7444,
      facadePath: 'orchestrator',
      facadeAudiences: [],
      facadeDefaultAudiences: [],
      facadeAnnotations: [],
      facadeRate: 100,
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
    ['any free ports', ['--api-port=0', '--facade-port=0', '--metrics-port=0'], { apiPort: 0, facadePort: 0, metricsPort: 0 }],
    ['no clusters', ['--clusters', '0'], { clusters: 0 }],
    ['--no-samples', ['--no-samples'], { samples: false }],
    ['--ready-file', ['--ready-file', 'f.json'], { readyFile: 'f.json' }],
    ['--help', ['--help'], { help: true }],
    ['--version', ['--version'], { version: true }],
    ['another namespace of its own', ['--namespace', 'tokens'], { namespace: 'tokens', credentialNamespaces: ['tokens'] }],
    ['--credential-namespaces', ['--credential-namespaces', 'a,b'], { namespace: 'purser-system', credentialNamespaces: ['a', 'b'] }],
    ['--protected-namespaces', ['--protected-namespaces', 'kube-system,vault'], { protectedNamespaces: ['kube-system', 'vault'] }],
    ['--namespaces', ['--namespaces', 'team-a,team-b'], { namespaces: ['team-a', 'team-b'] }],
    ['--components', ['--components', 'facade'], { components: ['facade'] }],
    ['--install-crds', ['--install-crds'], { installCrds: true }],
    ['--verify-interval', ['--verify-interval', '1h30m'], { verifyIntervalMs: 5_400_000 }],
    ['--max-token-lifetime', ['--max-token-lifetime', '1h'], { maxExpirationSeconds: 3_600 }],
    ['--allowed-audiences', ['--allowed-audiences', 'api,https://vault'], { allowedAudiences: ['api', 'https://vault'] }],
    ['a namespace once that is named twice', ['--namespaces', 'team-a,team-b,team-a'], { namespaces: ['team-a', 'team-b'] }],
    ['namespaces with white space around them', ['--namespaces', ' team-a, team-b '], { namespaces: ['team-a', 'team-b'] }],
    [
      'audiences with white space around them, each once',
      ['--allowed-audiences', 'https://a, https://b ,https://a'],
      { allowedAudiences: ['https://a', 'https://b'] },
    ],
    ['components with white space around them', ['--components', 'facade, controller'], { components: ['controller', 'facade'] }],
    ['--probe-interval', ['--probe-interval', '5s'], { probeIntervalMs: 5_000 }],
    ['no verification', ['--verify-interval', '0'], { verifyIntervalMs: 0 }],
    ['--hub-cluster', ['--hub-cluster', 'hub'], { hubCluster: 'hub' }],
    ['a name with dots', ['--hub-cluster', 'hub.eu'], { hubCluster: 'hub.eu' }],
    ['--facade-tls-secret', ['--facade-tls-secret', 'facade.tls'], { facadeTlsSecret: 'facade.tls' }],
    ['--allow-loopback', ['--allow-loopback'], { allowLoopback: true }],
    ['--log-level', ['--log-level', 'trace'], { logLevel: 'trace' }],
    ['the command for a cluster', ['run', '--namespace', 'tokens'], { command: 'run', namespace: 'tokens' }],
    ['the command for this machine', ['dev', '--clusters', '2'], { command: 'dev', clusters: 2 }],
    ['the last of several', ['--clusters', '2', '--clusters', '3'], { clusters: 3 }],
  ])('takes %s', (_name, args, expected) => {
    expect(parseConfig(args, {})).toMatchObject(expected);
  });

  it.each([
    ['an unknown option', ['--nope'], 'unknown option --nope'],
    ['a short option', ['-h'], 'unknown option -h'],
    [
      'a namespace that cannot be',
      ['--credential-namespaces', 'a,B'],
      '--credential-namespaces must be names of namespaces with commas between them, not "a,B"',
    ],
    [
      'a component that there is not',
      ['--components', 'facade,webhook'],
      '--components must be controller or facade, with commas between them, not "facade,webhook"',
    ],
    ['no namespace at all', ['--namespaces', ','], '--namespaces must be names of namespaces with commas between them, not ","'],
    [
      'a time without a unit',
      ['--verify-interval', '15'],
      '--verify-interval must be 0 or a time of at least a second such as 15m or 1h30m, not "15"',
    ],
    [
      'a time that is too short',
      ['--verify-interval', '1ms'],
      '--verify-interval must be 0 or a time of at least a second such as 15m or 1h30m, not "1ms"',
    ],
    ['a time of nothing', ['--probe-interval', '0'], '--probe-interval must be a time of at least a second such as 10s or 1m30s, not "0"'],
    [
      'a lifetime that no token has',
      ['--max-token-lifetime', '9m'],
      '--max-token-lifetime must be a time of at least 10m such as 24h, not "9m"',
    ],
    ['no audience', ['--allowed-audiences', ','], '--allowed-audiences must be texts with commas between them, not ","'],
    ['audiences of white space', ['--allowed-audiences', ' , '], '--allowed-audiences must be texts with commas between them, not " , "'],
    ['no component', ['--components', ','], '--components must be controller or facade, with commas between them, not ","'],
    [
      'a Cluster that cannot be',
      ['--hub-cluster', 'Not A/Name'],
      '--hub-cluster must be a name of lower-case letters, digits, dots and hyphens, not "Not A/Name"',
    ],
    [
      'a Secret that cannot be',
      ['--facade-tls-secret', '../x'],
      '--facade-tls-secret must be a name of lower-case letters, digits, dots and hyphens, not "../x"',
    ],
    ["a name of JavaScript's own", ['--constructor'], 'unknown option --constructor'],
    ['the negation of an option', ['--samples'], 'unknown option --samples'],
    ['a missing value', ['--data-dir'], '--data-dir needs a value: --data-dir DIR'],
    ['an empty value', ['--ready-file='], '--ready-file needs a value: --ready-file FILE'],
    ['an option in place of a value', ['--ready-file', '--help'], '--ready-file needs a value: --ready-file FILE'],
    ['a value too many', ['--no-samples=yes'], '--no-samples takes no value'],
    ['a command after an option', ['--help', 'run'], 'unexpected argument "run"; with npm, options follow after --'],
    ['an argument', ['2'], 'unexpected argument "2"; with npm, options follow after --'],
    ['a port that is no number', ['--api-port', 'https'], '--api-port must be a number from 0 to 65535, not "https"'],
    ['a port beyond all', ['--facade-port', '65536'], '--facade-port must be a number from 0 to 65535, not "65536"'],
    ['a negative port', ['--metrics-port', '-1'], '--metrics-port must be a number from 0 to 65535, not "-1"'],
    ['half a cluster', ['--clusters', '0.5'], '--clusters must be a number from 0 to 100, not "0.5"'],
    ['a port given twice', ['--api-port', '9000', '--metrics-port', '9000'], '--api-port and --metrics-port are both 9000'],
  ])('refuses %s', (_name, args, problem) => {
    expect(() => parseConfig(args, {})).toThrow(new StartError(`${problem} (purser --help lists the options)`));
  });

  it('names everything that is wrong in one line', () => {
    expect(() => parseConfig(['--nope', '--clusters', 'x'], { PURSER_LOG_LEVEL: 'loud' })).toThrow(
      'unknown option --nope; --clusters must be a number from 0 to 100, not "x"; ' +
        'PURSER_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud" (purser --help lists the options)',
    );
  });

  it.each([
    ['a value', { PURSER_METRICS_PORT: '1' }, { metricsPort: 1 }],
    ['several names', { PURSER_PROTECTED_NAMESPACES: 'a,b' }, { protectedNamespaces: ['a', 'b'] }],
    ['true', { PURSER_ALLOW_LOOPBACK: 'true' }, { allowLoopback: true }],
    ['false', { PURSER_NO_SAMPLES: 'false' }, { samples: true }],
    ['a proxy', { HTTPS_PROXY: 'http://a:1', NO_PROXY: 'b,c' }, { httpsProxy: 'http://a:1', noProxy: 'b,c' }],
    ['a proxy in small letters, without a scheme', { https_proxy: 'a:1', no_proxy: '*' }, { httpsProxy: 'http://a:1', noProxy: '*' }],
    ['nothing', { PURSER_NAMESPACE: '' }, { namespace: 'purser-system' }],
    ['the address of a Service called purser-metrics', { PURSER_METRICS_PORT: 'tcp://10.0.0.1:7445' }, { metricsPort: 7445 }],
    [
      'what is no option',
      { PURSER_SERVICE_HOST: '10.0.0.1', PURSER_HELP: 'true', PURSER_VERSION: 'true' },
      { help: false, version: false },
    ],
    ['what the local run alone has', { PURSER_CLUSTERS: '2' }, { clusters: 2, localOnly: ['PURSER_CLUSTERS'] }],
  ])('takes %s from the environment', (_name, env, expected) => {
    expect(parseConfig([], env)).toMatchObject(expected);
  });

  it.each(['socks5://user:pass@a:1', 'http://'])('refuses a proxy that cannot be used, and does not repeat it: %s', (httpsProxy) => {
    const problem = 'HTTPS_PROXY must be an http or https URL (purser --help lists the options)';
    expect(() => parseConfig([], { HTTPS_PROXY: httpsProxy })).toThrow(new StartError(problem));
  });

  it('lets the command line rule over the environment', () => {
    expect(parseConfig(['--clusters', '3'], { PURSER_CLUSTERS: 'x' })).toMatchObject({ clusters: 3, localOnly: ['--clusters'] });
  });

  it('names the variable that is wrong', () => {
    expect(() => parseConfig([], { PURSER_ALLOW_LOOPBACK: 'yes', PURSER_API_PORT: 'x' })).toThrow(
      'PURSER_API_PORT must be a number from 0 to 65535, not "x"; PURSER_ALLOW_LOOPBACK must be true or false, not "yes"',
    );
  });

  it('reads the cluster to run on, and its options without effect there', () => {
    const config = parseConfig(['--clusters', '2', '--facade-port', '0', '--no-samples'], {
      KUBECONFIG: '/a:/b',
      PURSER_LOG_LEVEL: 'debug',
    });

    expect(config).toMatchObject({ kubeConfig: '/a:/b', logLevel: 'debug', localOnly: ['--clusters', '--no-samples'] });
  });

  it('takes an empty KUBECONFIG for none', () => {
    expect(parseConfig([], { KUBECONFIG: '' }).kubeConfig).toBeUndefined();
  });

  it('cannot be changed afterwards', () => {
    expect(Object.isFrozen(parseConfig([], {}))).toBe(true);
  });
});
