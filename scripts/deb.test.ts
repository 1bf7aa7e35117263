/** The Debian package: its service starts the program that it installs, its settings exist, and its scripts keep data until a purge. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, readlink, stat } from "node:fs/promises";
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

test("the control file names the version, the size and what the sandbox needs", () => {
  const text = controlFor("1.2.3", "arm64", 5);
  expect(text).toMatch(/^Version: 1\.2\.3\nArchitecture: arm64$/m);
  for (const name of ["bubblewrap", "nftables", "iproute2", "e2fsprogs", "xfsprogs"]) expect(text).toContain(name);
});
