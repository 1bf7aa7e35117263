/** A further program in an instance is as confined as the instance's own program. Programs in the sandbox try each rule. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
import type { ExecSpec } from "../../ports/compute/execution.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const missing = await missingForTests();
let world: HostWorld;
const id = newId();
const SECRET = "OF_THE_SERVER";

beforeEach(({ skip }) => skip(missing !== undefined, missing));

beforeAll(async () => {
  if (missing) return;
  process.env[SECRET] = "value";
  world = await openHost();
  const report = `${STATUS}; echo ready; exec sleep 600`;
  await world.compute.start(id, { ...specOf(world, []), env: { MINE: "1" }, entrypoint: ["sh", "-c"], cmd: [report] });
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  delete process.env[SECRET];
});

const TERMINAL = { terminal: { columns: 80, rows: 24 } };

/** Everything that confines a process, as it can read it itself. A copy of a mount namespace shows the same. */
const STATUS = `id; pwd; umask; ulimit -a; cat /proc/self/cgroup /proc/self/oom_score_adj
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:)' /proc/$$/status
for name in pid net ipc uts cgroup user; do readlink /proc/self/ns/$name; done
cut -d ' ' -f 4- /proc/self/mountinfo | sed 's/ master:[0-9]*//; s/ shared:[0-9]*//; s/ propagate_from:[0-9]*//' | sort
env | grep -v -E '^(PWD|OLDPWD|SHLVL|_)=' | sort`;

async function inside(script: string, more: Partial<ExecSpec> = {}) {
  const execution = await world.compute.exec!.run(id, { cmd: ["sh", "-c", script], ...more });
  const [out, , exit] = await Promise.all([text(execution.stdout), text(execution.stderr), execution.exit]);
  return { out: out.replaceAll("\r", ""), code: exit.code };
}

test("it is the same user in the same groups and namespaces, with the same rights, limits, mounts and variables", async () => {
  const own: string[] = [];
  for (let limit = 1; !own.includes("ready"); limit++)
    own.splice(0, own.length, ...(await linesOf(world.compute, id, { limit })).lines);
  const expected = own.slice(0, own.indexOf("ready"));
  expect(expected.join("\n")).toMatch(/^NoNewPrivs:\t1$.*^Seccomp:\t2$.*^MINE=1$/ms);
  expect((await inside(STATUS)).out.trimEnd().split("\n")).toEqual(expected);
  const onTerminal = (await inside(STATUS, TERMINAL)).out.trimEnd().split("\n");
  expect(onTerminal.filter((line) => line !== "TERM=xterm")).toEqual(expected);
});

test("it has no privilege and no way to one", async () => {
  for (const more of [{}, TERMINAL]) {
    const { out } = await inside(
      "id -u; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/$$/status; unshare --user true; mount -t tmpfs none /tmp; chroot /",
      more,
    );
    expect(Number(out.split("\n")[0])).toBeGreaterThan(1_000_000_000);
    expect(out.match(/^Cap\w+:\t0+$/gm)).toHaveLength(5);
    expect(out).toMatch(/^NoNewPrivs:\t1$/m);
    expect(out).toMatch(/^Seccomp:\t2$/m);
  }
});

test("it has nothing of the server's: no variable, no descriptor, no file", async () => {
  for (const more of [{}, TERMINAL]) {
    const { out } = await inside(
      "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls -l /proc/$$/fd",
      more,
    );
    expect(out).not.toContain(SECRET);
    expect(out).not.toContain(world.data);
    const open = [...out.matchAll(/ (\d+) -> (.*)$/gm)].map(([, fd, what]) => [Number(fd), what!] as const);
    expect(open.filter(([fd, what]) => fd > 2 && what !== "/dev/null")).toEqual([]);
    expect(open.length).toBeGreaterThan(2);
  }
  for (const path of [world.data, join(world.data, "instances"), "/root", "/etc/shadow", "/run"])
    expect(await inside(`ls ${path}`)).toMatchObject({ code: 2, out: "" });
});

test("it sees the instance's processes and files, and no others", async () => {
  const { out } = await inside("echo x > /tmp/shared; set -- /proc/[0-9]*; echo $#; kill -0 2 && echo reached");
  expect(Number(out.split("\n")[0])).toBeLessThan(12);
  expect(out).toContain("reached");
  expect((await inside("cat /tmp/shared")).out).toBe("x\n");
});

test("its terminal is one of the instance's, and has a name there", async () => {
  expect((await inside("tty; test -c $(tty) && echo there", TERMINAL)).out).toMatch(/^\/dev\/pts\/\d+\nthere\n$/);
});

test("the keys of a terminal reach it: one that interrupts ends what runs", async () => {
  const execution = await world.compute.exec!.run(id, { cmd: ["cat"], ...TERMINAL });
  // The terminal shows the word, and then the program does, which has begun by then. A shell that starts another program may lose a signal.
  execution.stdin.write("up\n");
  let seen = "";
  for await (const chunk of execution.stdout.iterator({ destroyOnReturn: false })) {
    seen += chunk;
    if (seen.split("up").length > 2) break;
  }
  execution.stdout.resume();
  execution.stdin.write("\x03");
  expect(await execution.exit).toMatchObject({ code: null, signal: "SIGINT" });
});

test("values of its variables, and its command, are on no disk and in no command line of the machine", async () => {
  const secret = `value-${newId()}`;
  const execution = await world.compute.exec!.run(id, {
    cmd: ["sh", "-c", "echo up; exec sleep 600"],
    env: { KEY: secret },
  });
  for await (const chunk of execution.stdout.iterator({ destroyOnReturn: false }))
    if (String(chunk).includes("up")) break;
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  expect(commands.filter((command) => command.includes(secret))).toEqual([]);
  expect((await readdir("/dev/shm")).filter((name) => name.includes(id))).toEqual([]);
  execution.close();
  expect(await execution.exit).toMatchObject({ signal: "SIGHUP" });
});

test("it leaves nothing when it has ended", async () => {
  const count = "set -- /proc/[0-9]*; echo $#";
  const before = (await inside(count)).out;
  for (let times = 0; times < 3; times++) await inside("true", TERMINAL);
  expect((await inside(count)).out).toBe(before);
});
