/** Programs use a Python outside `/usr` if the operator shows its folder, and say what is missing if he does not. */
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { ended, linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
import { runTool } from "../machine/forker.ts";
import { find } from "../machine/tools.ts";
import { HostCompute, type HostOptions } from "./host-compute.ts";
import { hostDefaults, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

/** Not in `/tmp`, since every program has a `/tmp` of its own. */
const BASE = await realpath(join(import.meta.dirname, "../../../../node_modules"));
const missing = BASE.startsWith("/tmp/") ? "every program has a /tmp of its own" : await missingForTests();

beforeEach(({ skip }) => skip(missing !== undefined, missing));

/** A home that is closed to others, with a Python of its own and a virtual environment that links to it. */
async function closedHome() {
  const home = await mkdtemp(join(BASE, ".mr-"));
  await chmod(home, 0o700);
  await writeFile(join(home, "private"), "nobody reads this");
  const [venv, version] = [join(home, "venv"), join(home, "versions/3")];
  for (const folder of [venv, version]) await mkdir(join(folder, "bin"), { recursive: true });
  await copyFile("/bin/sh", join(version, "bin/python3"));
  await symlink(join(version, "bin/python3"), join(venv, "bin/python"));
  return {
    home,
    venv,
    version,
    python: join(venv, "bin/python"),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

async function run(command: readonly string[], more: Partial<HostOptions>) {
  await using world = await openHost(more);
  const id = newId();
  await world.compute.start(id, { ...specOf(world, []), entrypoint: [], cmd: command });
  const [{ lines }, exit] = await Promise.all([linesOf(world.compute, id), ended(world.compute, id)]);
  const kept = (await (await world.reopen(more)).list()).find((one) => one.id === id)?.exit;
  return { lines, exit, kept };
}

test("an environment made by Python's own venv, below a folder that is closed to others, works and is read-only", async ({
  skip,
}) => {
  const python = await find("python3");
  await using place = await closedHome();
  const env = join(place.home, "env");
  const cannot = python
    ? await runTool(python, ["-m", "venv", "--without-pip", env]).then(
        () => undefined,
        ({ message }: Error) => message,
      )
    : "python3 is not installed";
  skip(cannot !== undefined, cannot);
  // The process that starts tools may have been started by a file that opened a data folder, which closes all new files to others.
  await runTool("chmod", ["-R", "o+rX", env]);
  const script = `import sys, os
print(sys.prefix)
print(os.listdir(${JSON.stringify(place.home)}))
print(os.getuid() != 0)
try: open(sys.prefix + "/x", "w")
except OSError as error: print(error.strerror)`;
  const { lines, exit } = await run([join(env, "bin/python"), "-c", script], { readable: [env] });
  expect([lines, exit.code]).toEqual([[env, "['env']", "True", "Read-only file system"], 0]);
});

test("one that leads to a Python elsewhere says which folders to show, also after a restart, and runs once they are", async () => {
  await using place = await closedHome();
  const { venv, version, python } = place;
  const nothing = await run([python, "-c", "echo runs"], {});
  expect(nothing.exit.code).toBe(127);
  expect(nothing.exit.reason).toBe(
    `${python} exists on this machine but is not shown to programs: add its folder and that of ${version}/bin/python3, which it needs, to MILLRACE_HOST_READABLE, such as MILLRACE_HOST_READABLE=${venv}:${version}`,
  );
  expect(nothing.kept?.reason).toBe(nothing.exit.reason);
  const half = await run([python, "-c", "echo runs"], { readable: [venv] });
  expect(half.exit.reason).toContain(
    `${python} needs ${version}/bin/python3, which exists on this machine but is not shown`,
  );
  const whole = await run([python, "-c", "echo runs"], { readable: [venv, version] });
  expect([whole.lines, whole.exit.code, whole.exit.reason]).toEqual([["runs"], 0, undefined]);
});

test("another account than the owner's is not told what is on the machine", async () => {
  await using place = await closedHome();
  const { exit } = await run([place.python], { isOwners: async () => false });
  expect([exit.code, exit.reason]).toEqual([127, undefined]);
});

test("a driver that would show what no program may see does not open", async () => {
  const opening = HostCompute.open({ ...hostDefaults("/nowhere/data"), readable: ["/etc"] });
  await expect(opening).rejects.toThrow("MILLRACE_HOST_READABLE cannot show /etc: it is part of /etc");
});

test("a volume is not mounted over what is shown, which is said of the image before it is started", async () => {
  await using place = await closedHome();
  await using world = await openHost({ readable: [place.venv] });
  await world.compute.volumes!.create({ id: "v1", sizeGb: 0.4 });
  for (const path of [place.home, place.venv, join(place.venv, "x")]) {
    const start = world.compute.start(newId(), { ...specOf(world, []), mounts: [{ volume: "v1", path }] });
    await expect(start).rejects.toThrow(`nothing can be mounted at '${path}'`);
    expect(await world.compute.refuses("host", "a", [path])).toContain(`nothing can be mounted at '${path}'`);
  }
});
