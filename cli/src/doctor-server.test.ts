/** What `millrace doctor` says about each fault: it names the fault, and how to mend it. */
import { once } from "node:events";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lookAtGroups } from "../../platform/src/composition/look-at-groups.ts";
import { realClock } from "../../platform/src/kernel/clock.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { setup } from "../../platform/tests/world.ts";
import { dataFolder, diskOf, machineChecks } from "./doctor-checks.ts";
import { database, ports, serverVariables, settings } from "./doctor-server.ts";

const said = (text: string) => expect.stringContaining(text);

test("a service's settings are those of the folder that it uses, and the shell's come first", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "millrace.env");
  const text = '# A comment\nMILLRACE_DATA=/srv/m\nMILLRACE_PORT=8000\nMILLRACE_OIDC_LABEL="Example Corp"\n';
  await writeFile(file, text);
  const service = { MILLRACE_DATA: "/srv/m", MILLRACE_PORT: "8000", MILLRACE_OIDC_LABEL: "Example Corp" };
  expect(await serverVariables({}, file)).toEqual({ variables: service, from: file });
  expect(await serverVariables({ MILLRACE_DATA: "/srv/m", MILLRACE_PORT: "9" }, file)).toEqual({
    variables: { ...service, MILLRACE_PORT: "9" },
    from: file,
  });
  const others = { MILLRACE_DATA: "/home/ada/.millrace" };
  expect(await serverVariables(others, file)).toEqual({ variables: others });
  expect(await serverVariables(others, join(folder.path, "none"))).toEqual({ variables: others });
});

test("a wrong value, a misspelt setting and a setting that does not exist are named", async () => {
  expect(await settings({ MILLRACE_PORT: "many" }, "/etc/m.env")).toMatchObject({
    ...{ state: "fail", says: said("MILLRACE_PORT"), mend: said("/etc/m.env") },
  });
  expect(await settings({ MILLRACE_PROT: "8000" })).toMatchObject({ state: "fail", says: said("MILLRACE_PORT is") });
  expect(await settings({ MILLRACE_WEATHER: "fine" })).toMatchObject({ state: "warn", says: said("MILLRACE_WEATHER") });
  expect(await settings({ MILLRACE_PORT: "8000" })).toMatchObject({ state: "ok" });
  for (const look of [ports, (wrong: object) => database(wrong as never, realClock)])
    expect(await look({ MILLRACE_PORT: "many" })).toMatchObject({ state: "warn", mend: "Correct the settings first." });
});

test("a database that is away is named without its password, and one in the data folder is well", async () => {
  const port = await closedPort();
  const url = `postgres://millrace:secret-word@127.0.0.1:${port}/millrace`;
  const finding = await database({ MILLRACE_DATABASE_URL: url }, realClock);
  expect(finding).toMatchObject({ state: "fail", says: said(`127.0.0.1:${port}/millrace as millrace cannot be used`) });
  expect(JSON.stringify(finding)).not.toContain("secret-word");
  expect(await database({}, realClock)).toMatchObject({ state: "ok", says: said("SQLite") });
});

test("a port that another program has is named, also that of the TLS listener", async () => {
  await using folder = await temporaryFolder();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const used = String((taken.address() as AddressInfo).port);
  const free = String(await closedPort());
  const at = {
    MILLRACE_DATA: folder.path,
    MILLRACE_TLS_CERT: "c",
    MILLRACE_TLS_KEY: "k",
    MILLRACE_TLS_HOST: "127.0.0.1",
  };
  expect(await ports({ ...at, MILLRACE_PORT: used, MILLRACE_TLS_PORT: free })).toMatchObject({
    ...{ state: "warn", says: said(`port ${used} of 127.0.0.1 is taken by process ${process.pid}`) },
  });
  expect(await ports({ ...at, MILLRACE_PORT: free, MILLRACE_TLS_PORT: used })).toMatchObject({
    ...{ state: "warn", says: said("--tls-port") },
  });
  taken.close();
  await once(taken, "close");
  expect(await ports({ ...at, MILLRACE_PORT: free, MILLRACE_TLS_PORT: used })).toMatchObject({ state: "ok" });
});

test("a disk without room or without inodes, a folder with files of two users, and a machine without control groups", async () => {
  const disk = { type: 0, bsize: 4096, blocks: 1e9, bfree: 5e8, bavail: 5e8, files: 1e6, ffree: 5e5 };
  expect(diskOf(disk).state).toBe("ok");
  expect(diskOf({ ...disk, bavail: 1000 })).toMatchObject({ state: "fail", mend: said("Make room") });
  expect(diskOf({ ...disk, ffree: 7 })).toMatchObject({ state: "fail", says: "7 of 1000000 inodes are free" });
  // Btrfs and others have no fixed number.
  expect(diskOf({ ...disk, files: 0, ffree: 0 }).state).toBe("ok");
  await using folder = await temporaryFolder();
  expect(await dataFolder(join(folder.path, "none"))).toMatchObject({ state: "ok" });
  const data = join(folder.path, "data");
  await mkdir(data, { mode: 0o700 });
  await writeFile(join(data, "store.db"), "");
  expect(await dataFolder(data)).toMatchObject({ state: "ok" });
  // Only root gives files away.
  if (process.getuid!() === 0) {
    await chown(join(data, "store.db"), 4711, 4711);
    expect(await dataFolder(data)).toMatchObject({ state: "fail", says: said("store.db in it belongs to user 4711") });
  }
  expect(await dataFolder(join(data, "store.db"))).toMatchObject({ state: "fail", says: said("is a file") });
  expect(await lookAtGroups({ mounts: "", own: "" })).toMatchObject({ state: "warn", says: said("none are mounted") });
  const elsewhere = `30 1 0:1 / ${folder.path} rw - cgroup2 none rw`;
  expect(await lookAtGroups({ mounts: elsewhere, own: "0::/" })).toMatchObject({
    ...{ state: "warn", says: said("does not offer cpu, memory, pids") },
  });
});

test("a clock that differs from the server's is named", async () => {
  await using world = await setup();
  const env = { MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key };
  const look = (offMs: number) => {
    const clock = { ...realClock, now: () => realClock.now() + offMs };
    return machineChecks({ env, target: {}, clock })
      .find(({ name }) => name === "clock")!
      .look();
  };
  expect(await look(120_000)).toMatchObject({ state: "fail", mend: said("NTP") });
  expect((await look(0)).state).not.toBe("fail");
});

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
