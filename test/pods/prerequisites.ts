// Prerequisites of a node: root, Debian packages, and features of the kernel.

import { accessSync, constants } from 'node:fs';
import { platform } from 'node:os';
import { run } from '../support/run.ts';
import { inNamespaces } from './namespaces.ts';

/** Programs by the Debian package that contains them. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  buildah: ['buildah'],
  'busybox-static': ['busybox'],
  conntrack: ['conntrack'],
  containerd: ['containerd', 'containerd-shim-runc-v2', 'ctr'],
  'containernetworking-plugins': ['bridge', 'host-local', 'loopback'],
  debootstrap: ['debootstrap'],
  iproute2: ['ip'],
  iptables: ['iptables', 'ip6tables'],
  runc: ['runc'],
  'util-linux': ['mount', 'setpriv', 'unshare'],
};

/** Folder of the CNI plugins on Debian. */
export const CNI_PLUGINS = '/usr/lib/cni';
const FOLDERS = [...new Set([...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin', '/bin', CNI_PLUGINS])];

/** Commands that succeed if the kernel has a feature, by the name of the feature. They run in namespaces like those of the cluster. */
const FEATURES: Readonly<Record<string, string>> = {
  bridges: 'ip link add probe0 type bridge',
  'veth pairs': 'ip link add probe1 type veth peer name probe2',
  'iptables with comments': 'iptables -A INPUT -m comment --comment probe -j ACCEPT',
  'iptables with connection tracking': 'iptables -A INPUT -m conntrack --ctstate ESTABLISHED -j ACCEPT',
  'iptables with address translation':
    'iptables -t nat -A OUTPUT -p tcp -m statistic --mode random --probability 0.5 -j DNAT --to 127.0.0.1:1',
  'iptables with marks': 'iptables -t nat -A OUTPUT -j MARK --or-mark 0x4000',
  'iptables with queues': 'iptables -t mangle -A POSTROUTING -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100',
  overlayfs: 'mkdir -p /run/l /run/u /run/w /run/m && mount -t overlay overlay -o lowerdir=/run/l,upperdir=/run/u,workdir=/run/w /run/m',
  seccomp: 'grep -q filter /proc/sys/kernel/seccomp/actions_avail || grep -q errno /proc/sys/kernel/seccomp/actions_avail',
  'control groups for memory, CPU and processes':
    'test -d /sys/fs/cgroup/memory -a -d /sys/fs/cgroup/pids || grep -q "cpu.*memory.*pids" /sys/fs/cgroup/cgroup.controllers',
};

/** Installs missing packages. Throws an error that names everything that is missing and cannot be installed. */
export async function ensurePrerequisites(): Promise<void> {
  if (platform() !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('A node needs Linux and root: run `npm run test:pods` as root on Linux.');
  }
  const missing = missingPackages();
  if (missing.length > 0) await install(missing);
  const stillMissing = missingPackages();
  if (stillMissing.length > 0) {
    const programs = stillMissing.flatMap((name) => PROGRAMS[name] ?? []).filter((program) => !isFound(program));
    throw new Error(`Missing programs: ${programs.join(', ')}. Install the Debian packages ${stillMissing.join(', ')}.`);
  }
  const problems = await missingFeatures();
  if (problems.length > 0) throw new Error(`The kernel or the permissions of this process lack:\n${problems.join('\n')}`);
}

function missingPackages(): readonly string[] {
  return Object.keys(PROGRAMS).filter((name) => !(PROGRAMS[name] ?? []).every(isFound));
}

function isFound(program: string): boolean {
  return FOLDERS.some((folder) => {
    try {
      accessSync(`${folder}/${program}`, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function install(packages: readonly string[]): Promise<void> {
  console.log(`Installing ${packages.join(', ')}.`);
  const script = 'apt-get update -qq && apt-get install -qq -y --no-install-recommends --no-upgrade "$@"';
  const { code, output, stderr } = await run('sh', ['-c', script, 'install', ...packages], { DEBIAN_FRONTEND: 'noninteractive' });
  if (code !== 0) console.error(`apt-get failed:\n${output}${stderr}`);
}

async function missingFeatures(): Promise<readonly string[]> {
  const probes = Object.entries(FEATURES).map(
    ([name, command]) => `(${command}) > /run/out 2>&1 || echo "- ${name}: $(tail -n 1 /run/out)"`,
  );
  const [program = '', ...args] = inNamespaces(['sh', '-c', probes.join('\n')]);
  const { code, output, stderr } = await run(program, args);
  if (code !== 0) return [`- new network, mount and process namespaces: ${stderr.trim()}`];
  return output.split('\n').filter((line) => line !== '');
}
