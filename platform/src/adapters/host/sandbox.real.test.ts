/** What a program on the host cannot do. A program in the sandbox tries each of these things. */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type ListenOptions, type Server } from "node:net";
import { constants, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { ended, linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const missing = await missingForTests();
let world: HostWorld;

beforeEach(({ skip }) => skip(missing !== undefined, missing));

beforeAll(async () => {
  if (missing) return;
  world = await openHost();
  expect([world.compute.facts, world.compute.lacks]).toEqual([{ sandbox: true, ownNetwork: true, limits: true }, {}]);
});

afterAll(() => world?.[Symbol.asyncDispose]());

/** Runs a command in a sandbox and returns its output and its exit. */
async function inside(command: readonly string[], more: Partial<InstanceSpec> = {}, where: HostWorld = world) {
  const id = newId();
  const spec = { ...specOf(where, []), entrypoint: [], cmd: command, ...more };
  await where.compute.start(id, spec);
  try {
    const [{ lines }, exit] = await Promise.all([linesOf(where.compute, id), ended(where.compute, id)]);
    return { lines, text: lines.join("\n"), code: exit.code };
  } finally {
    await where.compute.remove(id);
  }
}

const shell = (script: string, more?: Partial<InstanceSpec>, where?: HostWorld) =>
  inside(["sh", "-c", script], more, where);

/** Tries to connect and prints the result, even if a busy machine suspended the program until the timeout. */
const tryToConnect = (target: object) => [
  "node",
  "-e",
  `const socket = require("node:net").connect(${JSON.stringify(target)});
   const end = (text) => { console.log(text); process.exit(); };
   socket.on("connect", () => end("connected")).on("error", ({ code }) => end(code));
   setTimeout(() => setImmediate(() => end("no answer")), 2_000);`,
];

const listening = (at: ListenOptions) =>
  new Promise<Server>((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.listen(at, () => resolve(server));
  });

const portOf = (server: Server) => (server.address() as { port: number }).port;

test("the tries can succeed: what is allowed works by the same means", async () => {
  const { lines, code } = await shell(
    "cat program.mjs | head -1; echo x > /tmp/file && cat /tmp/file; pwd; node -p 1+1",
  );
  expect(lines).toEqual([expect.stringContaining("conformance suite"), "x", "/app", "2"]);
  expect(code).toBe(0);
});

test("a program that brings nothing can import the worker library", async () => {
  const script = 'import("millrace-worker").then(({ start }) => console.log(typeof start))';
  expect((await inside(["node", "-e", script])).lines).toEqual(["function"]);
});

describe("a program cannot read", () => {
  test("the machine's passwords, keys and logs", async () => {
    for (const file of [
      "/etc/shadow",
      "/etc/ssh",
      "/etc/sudoers",
      "/etc/ssl/private",
      "/var/log",
      "/run",
      "/boot",
      "/sys",
    ])
      expect(await shell(`ls -d ${file}`)).toMatchObject({ code: 2 });
  });

  test("the home of anybody, with the SSH keys in it", async () => {
    for (const folder of ["/root", "/root/.ssh", "/home", "$HOME/.ssh"])
      expect(await shell(`ls ${folder}`)).toMatchObject({ code: 2 });
  });

  test("any file of the data folder, even one that others could read", async () => {
    const file = join(world.data, "master-key");
    await writeFile(file, "key", { mode: 0o644 });
    await chmod(world.data, 0o755);
    for (const path of [world.data, file, join(world.data, "instances")])
      expect(await shell(`cat ${path} || ls ${path}`)).toMatchObject({ code: 2 });
  });

  test("the data folder by naming it, a part of it, or what holds it as its image", async () => {
    await mkdir(join(world.data, "part"), { recursive: true });
    for (const folder of [world.data, join(world.data, "part"), tmpdir()])
      await expect(shell("ls", { image: `host:${folder}` })).rejects.toThrow("data folder");
  });

  test("files of its image that are root's alone", async () => {
    const file = join(world.app, "private");
    await writeFile(file, "x", { mode: 0o600 });
    expect(await shell("cat private")).toMatchObject({ code: 1, text: expect.stringContaining("Permission denied") });
    await rm(file);
  });

  test("the disk, the memory or the messages of the machine", async () => {
    const { lines } = await shell("ls /dev");
    const expected = ["core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"];
    expect(lines).toEqual([...expected, "tty", "urandom", "zero"]);
    expect(await shell("head -c 1 /proc/kcore || dmesg")).toMatchObject({ code: 1 });
  });

  test("what the server had open", async () => {
    const { lines } = await shell("ls -l /proc/self/fd");
    const open = lines.flatMap((line) => /(\d+) -> (.*)$/.exec(line)?.slice(1, 3).join(" ") ?? []);
    // Allowed are the folder that is being listed, the output pipes and `/dev/null`.
    const harmless = /^(\d+ \/proc\/\d+\/fd|\d+ \/dev\/null|[12] pipe:\[\d+\])$/;
    expect(open.length).toBeGreaterThan(3);
    expect(open.filter((one) => !harmless.test(one))).toEqual([]);
  });
});

describe("a program cannot write", () => {
  test("anywhere but to its scratch space", async () => {
    for (const folder of [
      "/",
      "/app",
      "/etc",
      "/usr",
      "/usr/local/bin",
      "/var",
      "/opt",
      "/opt/millrace/bin",
      "/dev",
      "/proc/sys/kernel",
    ])
      expect(await shell(`echo x > ${folder}/tried`), folder).toMatchObject({ code: 2 });
    expect(await shell("echo x > /tmp/a && echo x > /dev/shm/b")).toMatchObject({ code: 0 });
  });

  test("to the folder of its image, unless the operator allows it and the folder does", async () => {
    await using writable = await openHost({ writableApp: true });
    const write = "echo x > /app/made";
    expect(await shell(write, {}, writable)).toMatchObject({ code: 2 });
    await chmod(writable.app, 0o777);
    expect(await shell(write, {}, writable)).toMatchObject({ code: 0 });
    expect(await readFile(join(writable.app, "made"), "utf8")).toBe("x\n");
  });

  test("more than its disk holds", async () => {
    const { text } = await shell("head -c 20000000 /dev/zero > /tmp/large", {
      limits: { vcpu: 1, memoryMb: 256, diskGb: 0.01 },
    });
    expect(text).toContain("No space left");
  });
});

describe("a program cannot reach", () => {
  test("a socket of the machine, such as Docker's", async () => {
    const path = "/var/run/docker.sock";
    expect((await inside(tryToConnect({ path }))).lines).toEqual(["ENOENT"]);
    const own = join(tmpdir(), `millrace-${newId()}.sock`);
    const server = await listening({ path: own });
    await chmod(own, 0o777);
    expect((await inside(tryToConnect({ path: own }))).lines).toEqual(["ENOENT"]);
    server.close();
  });

  test("a socket of the machine that has no file", async () => {
    const path = `\0millrace-${newId()}`;
    const server = await listening({ path });
    expect((await inside(tryToConnect({ path }))).lines).toEqual(["ECONNREFUSED"]);
    server.close();
  });

  test("a service of the machine, on loopback or on every address", async () => {
    const [loopback, everywhere] = [
      await listening({ port: 0, host: "127.0.0.1" }),
      await listening({ port: 0, host: "0.0.0.0" }),
    ];
    const linkHost = world.compute.link.host;
    const targets = [
      { host: "127.0.0.1", port: portOf(loopback) },
      { host: linkHost, port: portOf(loopback) },
      { host: "127.0.0.1", port: portOf(everywhere) },
      { host: linkHost, port: portOf(everywhere) },
    ];
    for (const target of targets)
      expect((await inside(tryToConnect(target))).lines, JSON.stringify(target)).toEqual(["ECONNREFUSED"]);
    for (const server of [loopback, everywhere]) server.close();
  });

  test("more of the machine than the port that was opened for it", async () => {
    const { host } = world.compute.link;
    const [link, other] = [await listening({ port: 0, host }), await listening({ port: 0, host })];
    await world.compute.link.open(portOf(link));
    expect((await inside(tryToConnect({ host, port: portOf(link) }))).lines).toEqual(["connected"]);
    expect((await inside(tryToConnect({ host, port: portOf(other) }))).lines).toEqual(["ECONNREFUSED"]);
    for (const server of [link, other]) server.close();
  });

  test("another instance", async () => {
    const id = newId();
    await world.compute.start(id, specOf(world, [{ echoOn: 8_080 }], { ports: [8_080] }));
    await linesOf(world.compute, id, { limit: 1 });
    const base = world.compute.link.host.split(".").slice(0, 3).join(".");
    const addresses = Array.from({ length: 9 }, (_, n) => `${base}.${n + 2}`);
    const script = `
      const net = require("node:net");
      const own = Object.values(require("node:os").networkInterfaces()).flat().map(({ address }) => address);
      const tries = ${JSON.stringify(addresses)}.filter((host) => !own.includes(host)).map((host) => new Promise((resolve) => {
        net.connect(8080, host).on("connect", () => resolve(host)).on("error", () => resolve());
        setTimeout(resolve, 1500);
      }));
      Promise.all(tries).then((found) => { console.log(JSON.stringify(found.filter(Boolean))); process.exit(); });`;
    expect((await inside(["node", "-e", script])).lines).toEqual(["[]"]);
    await world.compute.remove(id);
  });

  test("the machine it runs on by other kinds of sockets", async () => {
    const perl = `foreach my $family (0..64) {
      my %errors;
      foreach my $type (1, 2, 3, 5) {
        $errors{socket(my $s, $family, $type, 0) ? 0 : 0+$!} = 1;
        $errors{socketpair(my $one, my $other, $family, $type, 0) ? 0 : 0+$!} = 1;
      }
      print qq($family\n) if grep { $_ != ${constants.errno.EAFNOSUPPORT} } keys %errors;
    }`;
    const [local, inet, inet6, netlink, packets] = ["1", "2", "10", "16", "17"];
    expect((await inside(["perl", "-e", perl])).lines).toEqual([local, inet, inet6, netlink, packets]);
  });
});

describe("a program cannot act", () => {
  test("as root, or become it", async () => {
    const { text } = await shell("id -u; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
    expect(Number(text.split("\n")[0])).toBeGreaterThan(1_000_000_000);
    const claims = Object.fromEntries(
      text
        .split("\n")
        .slice(1)
        .map((line) => line.split(/:\s+/) as [string, string]),
    );
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
      expect(Number.parseInt(claims[set]!, 16)).toBe(0);
    expect(claims).toMatchObject({ NoNewPrivs: "1", Seccomp: "2" });
  });

  test("in namespaces and mounts of its own making", async () => {
    for (const command of [
      "unshare --user true",
      "unshare --net true",
      "mount -t tmpfs none /tmp",
      "umount /app",
      "chroot /tmp",
    ])
      expect((await shell(command)).text, command).toMatch(/not permitted|must be superuser|denied|umount failed/);
  });

  test("no process inside tells in its command where the server keeps its data", async () => {
    const { text } = await shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    expect(text).toContain("bwrap");
    expect(text).not.toContain(world.data);
  });

  test("no mount inside tells where the server keeps its data", async () => {
    // The kernel shows a mount's source only relative to its file system.
    const { text } = await shell("cat /proc/self/mountinfo; ls -l /proc/$$/fd");
    expect(text).toContain(" /opt/millrace/worker ");
    expect(text).not.toContain(basename(world.data));
    // The descriptors that described the view to bubblewrap are closed too.
    const open = [...text.matchAll(/ (\d+) -> (?!\/dev\/null)/g)].map(([, fd]) => Number(fd));
    expect(open.filter((fd) => fd > 2)).toEqual([]);
  });

  test("on processes that are not its own, or see them", async () => {
    const { text } = await shell(`kill -0 ${process.pid} 2>&1; ls /proc | grep -E '^[0-9]+$'`);
    const numbers = text.split("\n").filter((line) => /^\d+$/.test(line));
    expect(text).toMatch(/No such process|not permitted/);
    expect(numbers.length).toBeLessThan(6);
    expect(numbers.every((pid) => Number(pid) < 20)).toBe(true);
    expect(await shell("cat /proc/1/environ")).toMatchObject({ code: 1 });
  });

  test("as the user that another instance is", async () => {
    const users = await Promise.all([1, 2, 3].map(async () => (await shell("id -u")).text));
    expect(new Set(users).size).toBe(3);
  });

  test("on the tools that build its sandbox, by its variables", async () => {
    const { lines } = await shell("echo ran", { env: { LD_PRELOAD: "/no/such.so" } });
    const complaints = lines.filter((line) => line.includes("/no/such.so"));
    // The one complaint comes from the shell that is the program. Tools that obeyed the variable would complain too.
    expect(complaints).toHaveLength(1);
    expect(lines).toContain("ran");
  });
});

test("values of variables are on no disk and in no command", async () => {
  const id = newId();
  const secret = `value-${newId()}`;
  await world.compute.start(
    id,
    specOf(world, [{ writeVariable: "KEY" }, { stayUntilAsked: 0 }], { env: { KEY: secret } }),
  );
  const { lines } = await linesOf(world.compute, id, { limit: 1 });
  expect(lines).toEqual([JSON.stringify(secret)]);
  await rm(join(world.data, "instances", id, "output"));
  const files = await readdir(world.data, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((entry) => entry.isFile())
    .map((entry) => readFile(join(entry.parentPath, entry.name), "utf8"));
  expect((await Promise.all(texts)).filter((text) => text.includes(secret))).toEqual([]);
  expect((await readdir("/dev/shm")).filter((name) => name.includes(id))).toEqual([]);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  expect(commands.filter((command) => command.includes(secret))).toEqual([]);
  await world.compute.remove(id);
});
