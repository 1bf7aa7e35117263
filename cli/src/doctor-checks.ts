/** What `millrace doctor` looks at, one check each. No check changes anything. */
import { execFile } from "node:child_process";
import type { StatsFs } from "node:fs";
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { folderTrouble } from "@millrace/platform/composition/start-trouble.ts";
import { type Clock, dateText, timestamp } from "@millrace/platform/kernel/clock.ts";
import { type Check, type Finding, fail, ok, warn } from "@millrace/platform/kernel/finding.ts";
import { DEFAULT_DATA_FOLDER } from "@millrace/platform/settings/data-folder.ts";
import { ApiClient } from "./api.ts";
import { database, ports, settings, type Variables } from "./doctor-server.ts";
import { service } from "./doctor-service.ts";
import { Failure } from "./failure.ts";
import { findTarget, type TargetOptions } from "./profiles.ts";
import type { Environment } from "./shell.ts";

export interface Patient {
  /** Of this shell, and of the service that uses the data folder. */
  env: Environment & Variables;
  target: TargetOptions;
  clock: Clock;
  /** The file of the service's variables, if they are among them. */
  from?: string | undefined;
}

const run = promisify(execFile);
const LONGEST_MS = 5000;

export function machineChecks(patient: Patient): Check[] {
  const data = patient.env.MILLRACE_DATA || DEFAULT_DATA_FOLDER;
  return [
    { name: "Node", look: async () => nodeOf(process.versions.node) },
    { name: "data folder", look: () => dataFolder(data) },
    { name: "settings", look: () => settings(patient.env, patient.from) },
    { name: "database", look: () => database(patient.env, patient.clock) },
    { name: "disk", look: () => disk(data) },
    { name: "open files", look: openFiles },
    { name: "server", look: () => server(patient) },
    { name: "service", look: service },
    { name: "port", look: () => ports(patient.env) },
    { name: "clock", look: () => clockOf(patient) },
    { name: "single sign-on", look: () => signOn(patient) },
    { name: "containers", look: containers },
    { name: "sandbox", look: () => sandbox(patient.env.PATH ?? "") },
    { name: "control groups", look: controlGroups },
    { name: "GPUs", look: () => gpus(patient.env.PATH ?? "") },
  ];
}

export function nodeOf(version: string): Finding {
  const [major = 0] = version.split(".").map(Number);
  if (major >= 24) return ok(version);
  return fail(`${version} is too old`, "Run 'npm ci' in Millrace's folder, which brings Node 24, or install Node 24.");
}

/** Files that the server writes. Those of another user are left by a start as that user, such as root. */
const FILES = ["store.db", "queue.db", "master-key", "api-key"];

export async function dataFolder(data: string): Promise<Finding> {
  const found = await stat(data).catch(() => undefined);
  if (!found) return ok(`${data} is not there yet; 'millrace serve' makes it`);
  if (!found.isDirectory()) return fail(`${data} is a file`, "Name a folder by --data or MILLRACE_DATA.");
  const hindered = await access(data, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: Error) => error);
  if (hindered) return fail((folderTrouble(hindered, data) as Error).message, `Whose it is: ls -ld ${data}`);
  for (const name of FILES) {
    const file = await stat(join(data, name)).catch(() => undefined);
    if (file && file.uid !== found.uid)
      return fail(
        `${name} in it belongs to user ${file.uid}, and the folder to user ${found.uid}`,
        `Give all of it to one of them: sudo chown -R ${found.uid} ${data}`,
      );
  }
  if ((found.mode & 0o077) !== 0) return warn(`${data} is open to other users`, `Close it: chmod 700 ${data}`);
  return ok(data);
}

const GB = 1e9;

async function disk(data: string): Promise<Finding> {
  let folder = data;
  while (!(await stat(folder).catch(() => undefined)) && dirname(folder) !== folder) folder = dirname(folder);
  return diskOf(await statfs(folder));
}

/** A share of files that can still be made, below which a disk counts as full. Some file systems have no limit, and say 0. */
const FEW_FILES = 0.01;

type Room = Pick<StatsFs, "bavail" | "bsize" | "blocks" | "files" | "ffree">;

export function diskOf({ bavail, bsize, blocks, files, ffree }: Room): Finding {
  const [free, all] = [bavail * bsize, blocks * bsize];
  if (files > 0 && ffree / files < FEW_FILES)
    return fail(`${ffree} of ${files} inodes are free`, "Remove small files: no more files can be made on this disk.");
  const says = `${(free / GB).toFixed(1)} of ${(all / GB).toFixed(1)} GB are free`;
  if (free < GB / 2) return fail(says, "Make room: the server takes no more work when the disk is full.");
  if (free < 5 * GB) return warn(says, "Make room, or put the data folder on another disk: --data.");
  return ok(says);
}

async function openFiles(): Promise<Finding> {
  const { stdout } = await run("sh", ["-c", "ulimit -n; ulimit -Hn"], { timeout: LONGEST_MS });
  const [, most = ""] = stdout.trim().split("\n");
  if (most === "unlimited" || Number(most) >= 4096) return ok(`at most ${most}`);
  return warn(`at most ${most}`, "Raise the limit for this user in /etc/security/limits.conf: nofile 65536.");
}

async function server({ env, target }: Patient): Promise<Finding> {
  try {
    const api = new ApiClient(await findTarget(target, env));
    await api.call({ method: "GET", path: "/v2/account/me" });
    return ok(`${api.target.url} answers, and takes the key of ${api.target.from}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return warn(
      error.message,
      error.errors[0] ?? "Start one with 'millrace serve', or sign in with 'millrace login URL'.",
    );
  }
}

const MOST_APART_S = 30;

/** Keys, links and bills go by the clock, so two machines must agree about it. */
async function clockOf({ env, target, clock }: Patient): Promise<Finding> {
  const found = await findTarget(target, env).catch(() => undefined);
  const answer = found && (await new ApiClient(found).send("/v2/account/me").catch(() => undefined));
  answer?.body.resume();
  const theirs = answer?.headers.date;
  if (theirs === undefined)
    return (await isKept()) ?? ok(`${timestamp(clock.now())}; there is no server to compare it with`);
  const near = Array.from({ length: 2 * MOST_APART_S + 1 }, (_, at) =>
    dateText(clock.now() + (at - MOST_APART_S) * 1000),
  );
  if (near.includes(theirs)) return (await isKept()) ?? ok("agrees with the server's");
  return fail(
    `${dateText(clock.now())} here, ${theirs} at the server`,
    "Set both clocks by NTP: timedatectl set-ntp true",
  );
}

/** Clocks that nobody sets drift apart. A machine without systemd says nothing about it. */
async function isKept(): Promise<Finding | undefined> {
  const asked = ["show", "--property=NTPSynchronized", "--value"];
  const said = await run("timedatectl", asked, { timeout: LONGEST_MS }).catch(() => undefined);
  if (said?.stdout.trim() !== "no") return undefined;
  return warn("nothing keeps this machine's clock right", "Turn on NTP: sudo timedatectl set-ntp true");
}

async function controlGroups(): Promise<Finding> {
  return (await import("@millrace/platform/composition/look-at-groups.ts")).lookAtGroups();
}

/** Looked at only where this shell has the server's settings. */
async function signOn({ env, clock }: Patient): Promise<Finding> {
  if (!env.MILLRACE_OIDC_ISSUER) return ok("no identity provider is set (MILLRACE_OIDC_ISSUER)");
  const { lookAtProvider } = await import("@millrace/platform/composition/sign-on.ts");
  const { settingsFrom } = await import("@millrace/platform/settings/settings.ts");
  try {
    return await lookAtProvider(settingsFrom(env), clock);
  } catch (error) {
    return fail((error as Error).message, "Correct the setting, then start the server again.");
  }
}

const SOCKETS = ["/var/run/docker.sock", "/run/podman/podman.sock"];

async function containers(): Promise<Finding> {
  for (const socket of SOCKETS) {
    if (!(await stat(socket).catch(() => undefined))) continue;
    const version = await engineVersion(socket).catch((error: NodeJS.ErrnoException) => error);
    if (!(version instanceof Error)) return ok(`${version} at ${socket}`);
    if (version.code === "EACCES")
      return warn(
        `${socket} may not be used by this user`,
        "Join its group, then log in again: sudo usermod -aG docker $(id -un)",
      );
    return warn(
      `${socket} does not answer (${version.code ?? version.message})`,
      "Start the engine: sudo systemctl start docker",
    );
  }
  return warn(
    "there is no Docker or Podman",
    "Container images need one: https://docs.docker.com/engine/install. Images 'host:/folder' run without.",
  );
}

async function engineVersion(socketPath: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const http = process.getBuiltinModule("node:http");
  const asked = http.get({ socketPath, path: "/version", timeout: LONGEST_MS }, resolve);
  asked.on("error", reject).on("timeout", () => asked.destroy(new Error("it is silent")));
  let text = "";
  for await (const part of (await promise).setEncoding("utf8")) text += part;
  const { Version, Components } = JSON.parse(text) as { Version: string; Components?: { Name: string }[] };
  return `${Components?.[0]?.Name ?? "Docker"} ${Version}`;
}

/** What each program is needed for, and the package of Debian and Ubuntu that has it. */
const PROGRAMS: Record<string, { needs: string; from: string }> = {
  bwrap: { needs: "keeps programs on the host apart from this machine", from: "bubblewrap" },
  nft: { needs: "closes the network between programs", from: "nftables" },
  ip: { needs: "makes networks of clusters", from: "iproute2" },
  setpriv: { needs: "takes rights from programs", from: "util-linux" },
  "mkfs.ext4": { needs: "limits disks of Pods", from: "e2fsprogs" },
  xfs_growfs: { needs: "lets volumes grow", from: "xfsprogs" },
};

export async function sandbox(path: string): Promise<Finding> {
  const missing: string[] = [];
  for (const name of Object.keys(PROGRAMS)) if (!(await programIn(path, name))) missing.push(name);
  if (missing.length === 0) return ok("all programs that keep others apart are there");
  const what = missing.map((name) => `${name} (${PROGRAMS[name]!.needs})`).join(", ");
  const packages = [...new Set(missing.map((name) => PROGRAMS[name]!.from))].join(" ");
  return warn(`missing: ${what}`, `Install them: sudo apt-get install ${packages}`);
}

async function programIn(path: string, name: string): Promise<string | undefined> {
  const folders = [...path.split(delimiter).filter(Boolean), "/usr/sbin", "/sbin"];
  for (const folder of folders) {
    const file = join(folder, name);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

async function gpus(path: string): Promise<Finding> {
  const devices = (await readdir("/dev").catch(() => [])).filter((name) => /^nvidia\d+$/.test(name));
  const tool = await programIn(path, "nvidia-smi");
  if (!tool && devices.length === 0) return ok("none on this machine; CPU work and virtual GPUs work");
  if (!tool)
    return fail(`${devices.length} NVIDIA GPUs, but no nvidia-smi`, "Install NVIDIA's driver, with its tools.");
  const query = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"];
  const listed = await run(tool, query, { timeout: LONGEST_MS }).catch((error: Error) => error);
  if (listed instanceof Error)
    return fail(
      `nvidia-smi fails: ${listed.message.split("\n")[0]}`,
      "Load the driver (sudo modprobe nvidia), or reboot after its update.",
    );
  const found = listed.stdout.trim().split("\n").filter(Boolean);
  if (!(await programIn(path, "nvidia-ctk")))
    return warn(
      `${found.join("; ")}, and no NVIDIA Container Toolkit`,
      "Containers get GPUs by it: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit",
    );
  return ok(found.join("; "));
}
