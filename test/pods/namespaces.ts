// Namespaces of the cluster. The network namespace has loopback and bridges, and no route to other machines. All mounts and processes end
// with the first process of the namespaces, even if the test run is killed.

/**
 * Values that kubelet expects in /proc/sys, and otherwise sets for the whole machine. Files with these values cover the real ones.
 */
const KERNEL_SETTINGS: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/** Folders that programs of a node write to, and that are empty and private in the namespaces. */
const PRIVATE_FOLDERS = ['/run', '/var/lib/cni', '/var/log', '/etc/cni'];

/** Returns the command line that runs a command in new namespaces. */
export function inNamespaces(command: readonly string[]): readonly string[] {
  const namespaces = ['--net', '--mount', '--propagation=private', '--pid', '--fork', '--kill-child', '--mount-proc', '--ipc', '--uts'];
  const settings = Object.entries(KERNEL_SETTINGS).map(([name, value]) => {
    const file = `/run/${name.replaceAll('/', '-')}`;
    return `[ ! -e /proc/sys/${name} ] || { echo ${value} > ${file} && mount --bind ${file} /proc/sys/${name}; } || exit 1`;
  });
  const script = [
    ...PRIVATE_FOLDERS.map((folder) => `mkdir -p ${folder} && mount -t tmpfs tmpfs ${folder} || exit 1`),
    ...settings,
    'hostname purser-node',
    'ip link set lo up || exit 1',
    // The shell remains the first process, and collects the processes that containers leave.
    '"$@"; exit $?',
  ];
  return ['unshare', ...namespaces, 'sh', '-c', script.join('\n'), 'sh', ...command];
}
