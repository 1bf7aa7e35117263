/** What a program in the sandbox sees and may do, as arguments of bubblewrap. */
import { existsSync, readFileSync } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { APP, SYSTEM_FOLDERS } from "../../ports/compute/mount-paths.ts";
import type { MountedFolder } from "../../ports/compute/volumes.ts";

/** Where programs find what the server shows them of its own. */
export const OURS = "/opt/millrace";
/** Where the Node that runs the server is found too, so that a machine without one can run programs for it. */
const RUNTIME = `${OURS}/bin`;
/** Where the worker library is; programs in `/app` import it by its name, as they would when it is installed beside them. */
const LIBRARY = `${OURS}/worker`;
const LIBRARY_NAME = "/node_modules/millrace-worker";
export const PATH = `${RUNTIME}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

/** With `/usr` and `SYSTEM_FOLDERS` the parts of the machine that every program sees, read-only. Whatever is not here does not exist for it. */
const SYSTEM_FILES = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/debian_version",
  "/etc/fonts",
  "/etc/gai.conf",
  "/etc/host.conf",
  "/etc/ld.so.cache",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/nsswitch.conf",
  "/etc/os-release",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/timezone",
];

/** Folders on the way to these; bubblewrap would make them for their owner alone. */
const FOLDERS = [
  ...["/etc", "/etc/pki", "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ssl"],
  ...["/opt", OURS, RUNTIME, "/node_modules", "/var"],
];

const WITHOUT_VALUE: readonly string[] = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];

/** The arguments that are the same for every program on this machine. */
export async function systemView(): Promise<string[]> {
  const folders = await Promise.all(SYSTEM_FOLDERS.map(systemFolder));
  return [
    "--ro-bind",
    "/usr",
    "/usr",
    ...folders.flat(),
    ...SYSTEM_FILES.flatMap((file) => ["--ro-bind-try", file, file]),
  ];
}

/** `/bin` and the like are links into `/usr` on most machines, and folders on some. */
async function systemFolder(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return [];
  return found.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--ro-bind", path, path];
}

export interface View {
  /** The same for all: `systemView()`. */
  system: readonly string[];
  /** The folder that is `/app`; without one it is empty. */
  app: string | undefined;
  appWritable: boolean;
  /** The server's own Node. */
  node: string;
  /** The folder of the worker library. */
  library: string | undefined;
  /** Files of `/etc` made for this instance: the descriptor of each, by name. */
  etc: Readonly<Record<string, number>>;
  /** The file of names that a group shares, in the place of its own. */
  names?: string | undefined;
  hostname: string;
  scratchBytes: number;
  /** The folder that is `/tmp` to a program that stays; else that is in memory, and goes with it. */
  scratch: string | undefined;
  devices: readonly string[];
  /** What an operator shows of the machine, read-only. */
  readable: readonly MountedFolder[];
  mounts: readonly MountedFolder[];
  /** Descriptor of the filter of system calls, where there is one for this processor. */
  seccomp: number | undefined;
  /** Whether this bubblewrap can limit the size of `/tmp`. */
  limitsScratch: boolean;
  /** Whether privileges still have to be given up inside. */
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
    // No mounts, of which the kernel would tell where they come from.
    ...Object.entries(view.etc).flatMap(([name, fd]) => ["--perms", "0644", "--file", String(fd), `/etc/${name}`]),
    ...(view.names === undefined ? [] : ["--ro-bind", view.names, "/etc/hosts"]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--perms", "1777", ...size, "--tmpfs", "/dev/shm"],
    ...(view.scratch === undefined
      ? ["--perms", "1777", ...size, "--tmpfs", "/tmp"]
      : ["--bind", view.scratch, "/tmp"]),
    ...["--symlink", "/tmp", "/var/tmp"],
    ...view.devices.flatMap((device) => ["--dev-bind-try", device, device]),
    ...view.readable.flatMap((folder) => mountArguments(folder, "--ro-bind-try")),
    ...(view.app === undefined ? ["--dir", APP] : [view.appWritable ? "--bind" : "--ro-bind", view.app, APP]),
    ...view.mounts.flatMap((folder) => mountArguments(folder, "--bind")),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", APP],
    ...(view.seccomp === undefined ? [] : ["--seccomp", String(view.seccomp)]),
    ...(view.asRoot ? KEPT_FOR_THE_DROP : ["--unshare-user"]),
  ];
}

const mountArguments = ({ source, path }: MountedFolder, how: "--bind" | "--ro-bind-try"): string[] => [
  ...foldersTo(path).flatMap((folder) => ["--perms", "0755", "--dir", folder]),
  ...[how, source, path],
];

/** `/a/b/c` is reached by `/a` and `/a/b`. */
const foldersTo = (path: string): string[] =>
  path
    .split("/")
    .slice(1, -1)
    .map((_, i, names) => `/${names.slice(0, i + 1).join("/")}`);

/** What `setpriv` needs to become somebody else; it gives these up with the rest. */
const KEPT_FOR_THE_DROP = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((one) => ["--cap-add", one]);

/**
 * Gives up every privilege for good. Inside the sandbox, not before it: bubblewrap then needs no user namespace, which some machines forbid,
 * and a folder is reached that only root could walk to. Inside, not by bubblewrap's own `--uid`, which leaves the files of root readable.
 */
export const dropTo = (user: number): string[] => [
  "/usr/bin/setpriv",
  ...[`--reuid=${user}`, `--regid=${user}`, "--clear-groups"],
  ...["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--"],
];

/** Users of this machine begin far below, and containers' end there: nobody has these numbers. */
const FIRST_USER = 1_900_000_000;
const USERS = 2 ** 27;

/** A user of its own for each instance, so that no two share a file, a limit or a signal. `seed` is 32 bits. */
export const userFrom = (seed: number) => FIRST_USER + (seed % USERS);

export const isInstanceUser = (user: number) => user >= FIRST_USER && user < FIRST_USER + USERS;

/** Of a program in the sandbox; as the machine names them below `/proc/<pid>/ns`, and `nsenter` its options. */
const NAMESPACE_OPTIONS = { mnt: "mount", pid: "pid", net: "net", ipc: "ipc", uts: "uts", cgroup: "cgroup" } as const;
export type Namespace = keyof typeof NAMESPACE_OPTIONS;
export const NAMESPACES = Object.keys(NAMESPACE_OPTIONS) as Namespace[];

export interface Entrance {
  nsenter: string;
  bubblewrap: string;
  /** Files that stand for the namespaces to enter. */
  namespaces: readonly (readonly [name: Namespace, file: string])[];
  seccomp: number | undefined;
}

/**
 * The command that runs another one in a sandbox that is there, as root who is about to give up his privileges. Bubblewrap once more, for
 * the filter of system calls alone, which nothing else can set: what it sees is what is there already, in a copy of the namespace of mounts.
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

/** Nothing on a loopback address is there for a program with a network of its own. */
export function reachableNameServers(text: string): string | undefined {
  const lines = text.split("\n").filter((line) => !/^\s*nameserver\s+(127\.|::1)/.test(line));
  return lines.some((line) => /^\s*nameserver\s/.test(line)) ? lines.join("\n") : undefined;
}

const RESOLVERS = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/** The name servers that programs ask. */
export function resolvConf(ownNetwork: boolean): string {
  for (const file of RESOLVERS) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const usable = ownNetwork ? reachableNameServers(text) : text;
    if (usable) return usable;
  }
  return "";
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Names that no shell can hand on. */
export const unusableNames = (env: Readonly<Record<string, string>>) =>
  Object.keys(env).filter((name) => !NAME.test(name));

/**
 * Variables as a shell reads them. They reach the program alone: one such as `LD_PRELOAD` would otherwise rule the tools that build the sandbox.
 */
export function environmentText(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join("");
}

/** A text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Reads the variables from descriptor 3 and becomes the program; first, where `network.sh` says when, waits for the network. `app` is what
 * was found at the folder's path before: whatever took its place meanwhile, such as a link to another one, is not run.
 */
export const withEnvironment = (
  command: readonly string[],
  { waits, app }: { waits: boolean; app?: string | undefined },
): string[] => [
  ...["/bin/sh", "-c", `${waits ? "read -r _ <&5 && " : ""}${app ? sameFolder(app) : ""}${BECOME}`, "millrace"],
  ...command,
];

const BECOME = '. /dev/fd/3 && exec "$@" 3<&- 5<&-';

const sameFolder = (identity: string) =>
  `{ [ "$(stat -c %d:%i ${APP})" = ${identity} ] || { echo "the folder of the image was replaced while this started" >&2; exit 125; }; } && `;
