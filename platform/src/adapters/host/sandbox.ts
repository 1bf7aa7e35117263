/** The bubblewrap arguments that decide what a program in the sandbox sees and may do. */
import { existsSync, readFileSync } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { APP, SYSTEM_FOLDERS } from "../../ports/compute/mount-paths.ts";
import type { MountedFolder } from "../../ports/compute/volumes.ts";
import { quoted } from "../machine/quoted.ts";

/** Where programs find the files that the server itself provides. */
export const OURS = "/opt/millrace";
/** Where the machine's files in `/etc` are, to which links in `/etc` lead. */
export const SYSTEM = `${OURS}/system`;
/** Where programs find the server's own Node, so that a machine without Node can run them. */
const RUNTIME = `${OURS}/bin`;
/** Where the worker library is. Programs in `/app` import it by name, as if it were installed beside them. */
const LIBRARY = `${OURS}/worker`;
const LIBRARY_NAME = "/node_modules/millrace-worker";
export const PATH = `${RUNTIME}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

/** The parent folders of files that are shown. Bubblewrap would create them for their owner only. */
const FOLDERS = [
  ...["/etc", "/etc/pki", "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ssl"],
  ...["/opt", OURS, RUNTIME, "/node_modules", "/var"],
];

const WITHOUT_VALUE: readonly string[] = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];

/** The arguments that are the same for every program on this machine. */
export async function systemView(): Promise<string[]> {
  const folders = await Promise.all(SYSTEM_FOLDERS.map(systemFolder));
  return ["--ro-bind", "/usr", "/usr", ...folders.flat()];
}

/** `/bin` and similar paths are links into `/usr` on most machines, and folders on some. */
async function systemFolder(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return [];
  return found.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--ro-bind", path, path];
}

export interface View {
  /** The arguments from `systemView()`, the same for all programs. */
  system: readonly string[];
  /** The folder that is shown as `/app`. Without one `/app` is empty. */
  app: string | undefined;
  appWritable: boolean;
  /** The server's own Node. */
  node: string;
  /** The folder of the worker library. */
  library: string | undefined;
  /** Files of `/etc` made for this instance: the descriptor of each by its name. */
  etc: Readonly<Record<string, number>>;
  /** The group's file of names, which replaces the instance's own. */
  names?: string | undefined;
  hostname: string;
  scratchBytes: number;
  /** The folder that a program that stays sees as `/tmp`. Without one `/tmp` is in memory and ends with the program. */
  scratch: string | undefined;
  devices: readonly string[];
  /** The operator's folders that every program sees read-only. */
  readable: readonly MountedFolder[];
  mounts: readonly MountedFolder[];
  /** The descriptor of the system call filter, if there is one for this processor. */
  seccomp: number | undefined;
  /** Whether this bubblewrap can limit the size of `/tmp`. */
  limitsScratch: boolean;
  /** Whether the program still has to give up root's privileges inside. */
  asRoot: boolean;
}

/** The arguments for one program. */
export function sandboxArguments(view: View): string[] {
  const size = view.limitsScratch ? ["--size", String(view.scratchBytes)] : [];
  return [
    ...WITHOUT_VALUE,
    "--new-session",
    "--clearenv",
    ...["--hostname", view.hostname],
    ...FOLDERS.flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...view.system,
    ...["--ro-bind", view.node, `${RUNTIME}/node`],
    ...(view.library === undefined ? [] : ["--ro-bind", view.library, LIBRARY, "--symlink", LIBRARY, LIBRARY_NAME]),
    // Copied, not mounted, since the kernel would show where a mount comes from.
    ...Object.entries(view.etc).flatMap(([name, fd]) => ["--perms", "0644", "--file", String(fd), `/etc/${name}`]),
    ...(view.names === undefined
      ? ["--symlink", `${SYSTEM}/etc/hosts`, "/etc/hosts"]
      : ["--ro-bind", view.names, "/etc/hosts"]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--perms", "1777", ...size, "--tmpfs", "/dev/shm"],
    ...(view.scratch === undefined
      ? ["--perms", "1777", ...size, "--tmpfs", "/tmp"]
      : ["--bind", view.scratch, "/tmp"]),
    ...["--symlink", "/tmp", "/var/tmp"],
    ...view.devices.flatMap((device) => ["--dev-bind-try", device, device]),
    ...view.readable.flatMap((folder) => mountArguments(folder, "--ro-bind-try")),
    ...(view.app === undefined ? ["--dir", APP] : [view.appWritable ? "--bind" : "--ro-bind", view.app, APP]),
    ...view.mounts.flatMap((folder) => mountArguments(folder, folder.readOnly ? "--ro-bind" : "--bind")),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", APP],
    ...(view.seccomp === undefined ? [] : ["--seccomp", String(view.seccomp)]),
    ...(view.asRoot ? KEPT_FOR_THE_DROP : ["--unshare-user"]),
  ];
}

const mountArguments = ({ source, path }: MountedFolder, how: "--bind" | "--ro-bind" | "--ro-bind-try"): string[] => [
  ...foldersTo(path).flatMap((folder) => ["--perms", "0755", "--dir", folder]),
  ...[how, source, path],
];

/** The folders `/a` and `/a/b` for the path `/a/b/c`. */
const foldersTo = (path: string): string[] =>
  path
    .split("/")
    .slice(1, -1)
    .map((_, i, names) => `/${names.slice(0, i + 1).join("/")}`);

/** The capabilities that `setpriv` needs to change the user. It gives these up with the rest. */
const KEPT_FOR_THE_DROP = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((one) => ["--cap-add", one]);

/**
 * Gives up every privilege for good. This happens inside the sandbox: bubblewrap then needs no user namespace, which some machines forbid,
 * and can mount folders that only root can reach. Bubblewrap's own `--uid` would leave root's files readable.
 */
export const dropTo = (user: number): string[] => [
  "/usr/bin/setpriv",
  ...[`--reuid=${user}`, `--regid=${user}`, "--clear-groups"],
  ...["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--"],
];

/** The users of this machine are far below these numbers and those of containers end before them, so nobody else has them. */
const FIRST_USER = 1_900_000_000;
const USERS = 2 ** 27;

/** Each instance gets a user of its own, so that no two share a file, a limit or a signal. `seed` has 32 bits. */
export const userFrom = (seed: number) => FIRST_USER + (seed % USERS);

export const isInstanceUser = (user: number) => user >= FIRST_USER && user < FIRST_USER + USERS;

/** The namespaces of a program in the sandbox: their names below `/proc/<pid>/ns`, and the matching options of `nsenter`. */
const NAMESPACE_OPTIONS = { mnt: "mount", pid: "pid", net: "net", ipc: "ipc", uts: "uts", cgroup: "cgroup" } as const;
export type Namespace = keyof typeof NAMESPACE_OPTIONS;
export const NAMESPACES = Object.keys(NAMESPACE_OPTIONS) as Namespace[];

export interface Entrance {
  nsenter: string;
  bubblewrap: string;
  /** The files of the namespaces to enter. */
  namespaces: readonly (readonly [name: Namespace, file: string])[];
  seccomp: number | undefined;
}

/**
 * The command that runs another command in an existing sandbox, as root that is about to give up its privileges. Bubblewrap runs once more
 * only to set the system call filter, which nothing else can. It shows the existing files in a copy of the mount namespace.
 */
export const enterSandbox = (
  command: readonly string[],
  { nsenter, bubblewrap, namespaces, seccomp }: Entrance,
): string[] => [
  nsenter,
  ...namespaces.map(([name, file]) => `--${NAMESPACE_OPTIONS[name]}=${file}`),
  "--",
  bubblewrap,
  ...["--clearenv", "--dev-bind", "/", "/"],
  ...(seccomp === undefined ? [] : ["--seccomp", String(seccomp)]),
  ...KEPT_FOR_THE_DROP,
  "--",
  ...command,
];

export const passwdOf = (user: number) =>
  `root:x:0:0:root:/:/usr/sbin/nologin\nworker:x:${user}:${user}::/tmp:/bin/sh\n`;
export const groupOf = (user: number) => `root:x:0:\nworker:x:${user}:\n`;

/** Removes name servers on loopback addresses, which a program with a network of its own cannot reach. */
export function reachableNameServers(text: string): string | undefined {
  const lines = text.split("\n").filter((line) => !/^\s*nameserver\s+(127\.|::1)/.test(line));
  return lines.some((line) => /^\s*nameserver\s/.test(line)) ? lines.join("\n") : undefined;
}

const RESOLVERS = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/** The text of `/etc/resolv.conf` for programs. */
export function resolvConf(ownNetwork: boolean): string {
  for (const file of RESOLVERS) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const usable = ownNetwork ? reachableNameServers(text) : text;
    if (usable) return usable;
  }
  return "";
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Names that Bash, which is `/bin/sh` on some machines, keeps for itself. It ends if it is told to export them. */
const KEPT_BY_SHELL = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]);

/**
 * Variables as shell commands. Only the program receives them: a variable such as `LD_PRELOAD` would otherwise affect the tools that build
 * the sandbox. Those that no shell can export go into `"$@"`, in front of the command, as a call of `env`.
 */
export function environmentText(env: Readonly<Record<string, string>>): string {
  const { plain = [], odd = [] } = Object.groupBy(Object.entries(env), ([name]) =>
    NAME.test(name) && !KEPT_BY_SHELL.has(name) ? "plain" : "odd",
  );
  const exported = plain.map(([name, value]) => `export ${name}=${quoted(value)}\n`).join("");
  if (odd.length === 0) return exported;
  return `${exported}set -- /usr/bin/env -- ${odd.map(([name, value]) => quoted(`${name}=${value}`)).join(" ")} "$@"\n`;
}

/**
 * Reads the variables from descriptor 3 and becomes the program. With `waits` it first waits for the network, which `network.sh` announces.
 * `app` identifies the folder that was checked: if another folder or a link has taken its place, nothing is run.
 */
export const withEnvironment = (
  command: readonly string[],
  { waits, app }: { waits: boolean; app?: string | undefined },
): string[] => [
  // The network may take a little longer than the sandbox, so it is waited for last.
  ...["/bin/sh", "-c", `${app ? sameFolder(app) : ""}${waits ? "read -r _ <&5 && " : ""}${BECOME}`, "millrace"],
  ...command,
];

const BECOME = '. /dev/fd/3 && exec "$@" 3<&- 5<&-';

const sameFolder = (identity: string) =>
  `{ [ "$(stat -c %d:%i ${APP})" = ${identity} ] || { echo "the folder of the image was replaced while this started" >&2; exit 125; }; } && `;
