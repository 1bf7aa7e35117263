/** The Debian package: its service starts the program that it installs, its settings exist, and its scripts keep data until a purge. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allSettings } from "../platform/src/settings/settings.ts";
import { temporaryFolder } from "../platform/tests/process.ts";
import { controlFor, debianParts, PLACES, SCRIPTS } from "./deb.ts";

const read = (name: string) => readFileSync(new URL(`../deploy/debian/${name}`, import.meta.url), "utf8");
/** A later line for the same option adds to it, as systemd reads lists. */
const optionsIn = (text: string) =>
  Object.groupBy(
    text.split("\n").filter((line) => /^[A-Z]\w+=/.test(line)),
    (line) => line.split("=")[0]!,
  );

test("the service starts the program that the package installs, in the folder of the settings", async () => {
  await using folder = await temporaryFolder();
  await debianParts(folder.path);
  expect(optionsIn(read("millrace.service")).ExecStart).toEqual(["ExecStart=/usr/bin/millrace serve"]);
  expect(await readlink(join(folder.path, "usr/bin/millrace"))).toBe("/opt/millrace/node_modules/millrace/millrace");
  for (const place of Object.values(PLACES)) expect(await readFile(join(folder.path, place), "utf8")).not.toBe("");
  for (const name of SCRIPTS) expect((await stat(join(folder.path, "DEBIAN", name))).mode & 0o111).toBe(0o111);
  expect(await readFile(join(folder.path, "DEBIAN/conffiles"), "utf8")).toBe("/etc/millrace/millrace.env\n");
});

test("every setting of the file exists, and only the data folder is set", () => {
  const known = new Set(allSettings.map(({ variable }) => variable));
  const named = [...read("millrace.env").matchAll(/^#?(MILLRACE_\w+)=/gm)].map(([, name]) => name!);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  expect(read("millrace.env").match(/^MILLRACE_.*/gm)).toEqual(["MILLRACE_DATA=/var/lib/millrace"]);
});

test("Pods outlive a restart, so nothing gives the service a view of its own of the file system", () => {
  const options = optionsIn(read("millrace.service"));
  expect(options.KillMode).toEqual(["KillMode=process"]);
  expect(options.Delegate).toEqual(["Delegate=yes"]);
  const views =
    /^(Protect|Private|ReadOnly|ReadWrite|Inaccessible|Bind|Temporary|Root|Mount|NoExec|Exec)\w*(Paths|System|Home|Tmp|Devices|Mounts|FileSystem|Directory|Image|Flags|Tunables|Groups|Logs|Proc|Modules|Clock|Hostname)=/m;
  expect(read("millrace.service").match(views)).toBeNull();
  for (const capability of ["CAP_SYS_MODULE", "CAP_SYS_TIME", "CAP_SYS_BOOT", "CAP_SYS_RAWIO", "CAP_MAC_ADMIN"])
    expect(options.CapabilityBoundingSet!.join(" ")).not.toContain(capability);
});

test("an own user gets no rights of the machine", () => {
  const options = optionsIn(read("unprivileged.conf"));
  expect(options.User).toEqual(["User=millrace"]);
  expect(options.CapabilityBoundingSet).toEqual(["CapabilityBoundingSet="]);
  expect(options.ProtectSystem).toEqual(["ProtectSystem=strict"]);
});

test("the scripts are valid, and only a purge removes data", () => {
  for (const name of SCRIPTS) execFileSync("sh", ["-n", "-c", read(name)]);
  const [before, after] = read("postrm").split('[ "$1" = purge ] || exit 0');
  expect(before).not.toContain("rm -rf");
  expect(after).toContain("rm -rf --one-file-system /var/lib/millrace");
  expect(read("prerm")).not.toContain("rm ");
});

/** Runs a script of the package with its paths below `folder`, and with programs that only note how they were called. */
async function runScript(folder: string, name: string, given: string[], mounts = ""): Promise<string[]> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  for (const path of ["etc/millrace", "run/systemd/system", "var/lib/millrace/volumes"])
    await mkdir(join(folder, path), { recursive: true });
  for (const program of ["systemctl", "getent", "chown", "userdel", "groupdel"])
    await writeFile(join(bin, program), `#!/bin/sh\necho "${program} $*" >> ${folder}/calls\n`, { mode: 0o755 });
  await writeFile(join(folder, "mounts"), mounts);
  await writeFile(join(folder, "calls"), "");
  const text = read(name)
    .replaceAll(/\/(etc\/millrace|run\/systemd|var\/(?:lib|log)\/millrace|root\/)/g, `${folder}/$1`)
    .replaceAll("/proc/self/mounts", join(folder, "mounts"));
  execFileSync("sh", ["-c", text, name, ...given], { env: { PATH: `${bin}:${process.env.PATH}` } });
  return (await readFile(join(folder, "calls"), "utf8")).split("\n").filter((line) => line.startsWith("systemctl"));
}

test("installed again after a removal, the service starts again with the machine", async () => {
  await using folder = await temporaryFolder();
  const run = (name: string, ...given: string[]) => runScript(folder.path, name, given);
  const starts = [
    "systemctl daemon-reload",
    "systemctl enable --quiet millrace.service",
    "systemctl start millrace.service",
  ];
  const upgrades = ["systemctl daemon-reload", "systemctl try-restart millrace.service"];
  expect(await run("postinst", "configure", "")).toEqual(starts);
  expect(await run("prerm", "upgrade", "0.2.0")).toEqual([]);
  expect(await run("postinst", "configure", "0.1.0")).toEqual(upgrades);
  await run("prerm", "remove");
  await run("postrm", "remove");
  expect(await run("postinst", "configure", "0.2.0")).toEqual(starts);
  expect(await run("postinst", "configure", "0.2.0")).toEqual(upgrades);
});

test("a purge ends also where the data folder is a disk of its own, and leaves what is mounted in it alone", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "var/lib/millrace");
  const purge = (mounts: string) => runScript(folder.path, "postrm", ["purge"], mounts);
  await purge(`/dev/loop1 ${data}/volumes ext4 rw 0 0\n`);
  expect(await readdir(data)).toEqual(["volumes"]);
  await purge(`/dev/sdb1 ${data} ext4 rw 0 0\n`);
  expect(await readdir(data)).toEqual([]);
  expect(await readdir(join(folder.path, "etc"))).toEqual([]);
  await purge("/dev/sda1 / ext4 rw 0 0\n");
  expect(await readdir(join(folder.path, "var/lib"))).toEqual([]);
});

test("systemd starts the service for as long as that fails, such as while its database is away", () => {
  expect(optionsIn(read("millrace.service")).StartLimitIntervalSec).toEqual(["StartLimitIntervalSec=0"]);
});

test("the folder of the audit log that the documentation names is there, for the service alone", () => {
  const options = optionsIn(read("millrace.service"));
  expect(options.LogsDirectory).toEqual(["LogsDirectory=millrace"]);
  expect(options.LogsDirectoryMode).toEqual(["LogsDirectoryMode=0700"]);
});

test("a signal that the documentation sends by systemd reaches the server alone, and no program of a Pod", () => {
  const text = readFileSync(new URL("../docs/operating.md", import.meta.url), "utf8");
  const sent = text.match(/systemctl kill .*/g);
  expect(sent).toEqual([expect.stringContaining("--kill-who=main --signal=USR2 millrace")]);
});

test("the control file names the version, the size and what the sandbox needs", () => {
  const text = controlFor("1.2.3", "arm64", 5);
  expect(text).toMatch(/^Version: 1\.2\.3\nArchitecture: arm64$/m);
  for (const name of ["bubblewrap", "nftables", "iproute2", "e2fsprogs", "xfsprogs"]) expect(text).toContain(name);
});
