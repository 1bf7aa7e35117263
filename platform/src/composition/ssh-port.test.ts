/** The port for SSH: it never makes a start fail and does not block another server. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { setupPods } from "../../tests/pod-world.ts";
import { temporaryFolder } from "../../tests/process.ts";
import { recordingLog } from "../../tests/world.ts";
import { settingsFrom } from "../settings/settings.ts";
import { openSsh } from "./ssh-port.ts";

async function taken(): Promise<Server & { port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(server, { port: (server.address() as { port: number }).port });
}

async function setup(flags: Record<string, string>, data: string) {
  const world = await setupPods();
  const { log, logged } = recordingLog();
  await openSsh(settingsFrom({ MILLRACE_DATA: data }, flags), world.app.ssh, log);
  return { world, logged, at: world.app.ssh.address };
}

test("any free one where the one of the last time is taken, and the same from then on", async () => {
  await using folder = await temporaryFolder();
  const first = await setup({}, folder.path);
  await using _ = first.world;
  // The usual port may belong to another server, or to this one.
  expect(first.at).toEqual({ host: "millrace.test", port: expect.any(Number) });
  const second = await setup({}, folder.path);
  await second.world[Symbol.asyncDispose]();
  expect(second.at!.port).not.toBe(first.at!.port);
  expect(await readFile(join(folder.path, "ssh-port"), "utf8")).toBe(`${second.at!.port}\n`);
  const third = await setup({}, folder.path);
  await third.world[Symbol.asyncDispose]();
  expect(third.at).toEqual(second.at);
});

test("the one that is asked for, or none: then the log says why, and no Pod tells of it", async () => {
  await using folder = await temporaryFolder();
  const other = await taken();
  const { world, logged, at } = await setup({ sshPort: String(other.port) }, folder.path);
  await using _ = world;
  expect(at).toBeUndefined();
  expect(logged.join()).toMatch(/Pods are not reached by SSH.*EADDRINUSE/);
  expect((await world.pod((await world.create()).id)).ssh.proxy).toBeNull();
  other.close();
});

test("none where it is off", async () => {
  await using folder = await temporaryFolder();
  const { world, at, logged } = await setup({ sshPort: "off" }, folder.path);
  await using _ = world;
  expect([at, logged]).toEqual([undefined, []]);
});

test.each([
  ["ssh.example.com", { host: "ssh.example.com" }],
  ["ssh.example.com:22", { host: "ssh.example.com", port: 22 }],
  ["[2001:db8::1]:22", { host: "2001:db8::1", port: 22 }],
])("clients are told %s as it is set", (given, read) => {
  expect(settingsFrom({ MILLRACE_SSH_ADDRESS: given }).sshAddress).toEqual(read);
});

test.each(["", "-oProxyCommand=x", "a b", "user@host", "host:0", "host:99999", "http://host"])(
  "'%s' is no address",
  (given) => {
    if (given === "") expect(settingsFrom({ MILLRACE_SSH_ADDRESS: given }).sshAddress).toBeUndefined();
    else expect(() => settingsFrom({ MILLRACE_SSH_ADDRESS: given })).toThrow("MILLRACE_SSH_ADDRESS must be a host");
  },
);
