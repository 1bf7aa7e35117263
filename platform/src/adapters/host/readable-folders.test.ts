/** Which folders of the machine an operator may show to every program, and how a program that stays hidden is explained. */
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openReadable } from "./readable-folders.ts";
import { type Sight, unseenProgram } from "./unseen-program.ts";

/** Not in `/tmp`, since every program has a `/tmp` of its own. */
const BASE = await realpath(join(import.meta.dirname, "../../../../node_modules"));
const onDisk = (name: string, show: () => Promise<void>) =>
  test(name, async ({ skip }) => {
    skip(BASE.startsWith("/tmp/"), "this checkout is in /tmp, and no folder there is ever shown");
    await show();
  });

async function place() {
  const path = await mkdtemp(join(BASE, ".mr-"));
  await chmod(path, 0o755);
  const data = join(path, "data");
  await mkdir(data);
  return {
    path,
    data,
    show: (...named: string[]) => openReadable(named, { own: [data], asAnother: true }),
    async folder(name: string) {
      await mkdir(join(path, name), { recursive: true });
      return join(path, name);
    },
    /** Creates an executable file under any name. */
    async program(name: string, text?: string) {
      const file = join(path, name);
      await mkdir(join(file, ".."), { recursive: true });
      if (text === undefined) await copyFile("/bin/sh", file);
      else await writeFile(file, text);
      await chmod(file, 0o755);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

const refusal = (showing: Promise<unknown>) =>
  showing.then(
    () => "shown",
    ({ message }: Error) => message,
  );

test.each([
  ["/", "too much: name the folder below it"],
  ["/root", "too much"],
  ["/home/", "too much"],
  ["/var", "too much"],
  ["/opt", "too much"],
  ["/etc", "part of /etc"],
  ["/etc/ssl", "part of /etc"],
  ["/proc/self", "part of /proc"],
  ["/sys", "part of /sys"],
  ["/dev/shm", "part of /dev"],
  ["/run", "part of /run"],
  ["/var/run", "part of /var/run"],
  ["/usr/../etc", "part of /etc"],
  ["/tmp/venv", "every program has a /tmp of its own"],
  ["/app", "every program has a /app of its own"],
  ["/opt/millrace", "every program has a /opt/millrace of its own"],
  ["/nowhere/at/all", "there is no folder /nowhere/at/all on this machine: make it, or name one that is there"],
])("%s is not shown, and the start says why and what to do", async (named, why) => {
  const message = await refusal(openReadable([named], { own: [], asAnother: true }));
  expect(message).toContain(`MILLRACE_HOST_READABLE cannot show ${named}: `);
  expect(message).toContain(why);
});

onDisk("the data folder, what is in it and what holds it are not shown, under any name", async () => {
  await using world = await place();
  const link = join(world.path, "link");
  await symlink(world.data, link);
  await mkdir(join(world.data, "x"));
  for (const named of [world.data, join(world.data, "x"), world.path, link])
    expect(await refusal(world.show(named))).toContain("the server's data folder, which no program may see");
});

onDisk("folders that hold keys or sockets are not shown, nor one that programs cannot read", async () => {
  await using world = await place();
  const home = await world.folder("home");
  await world.folder("home/.ssh");
  expect(await refusal(world.show(home))).toContain("keys are kept in its .ssh");
  expect(await refusal(world.show(join(home, ".ssh")))).toContain("keys are kept in its .ssh");
  const service = await world.folder("s");
  const server = createServer().listen(join(service, "x"));
  await new Promise((resolve) => server.once("listening", resolve));
  expect(await refusal(world.show(service))).toContain("holds a socket");
  server.close();
  const closed = await world.folder("closed");
  await chmod(closed, 0o700);
  expect(await refusal(world.show(closed))).toContain(`chmod o+rX ${closed}`);
  const file = await world.program("file");
  expect(await refusal(world.show(file))).toContain("is no folder");
});

onDisk("a folder is shown by its name and by its real one, once, and not again inside another", async () => {
  await using world = await place();
  const real = await world.folder("real");
  const inner = await world.folder("real/inner");
  const link = join(world.path, "link");
  await symlink(real, link);
  expect(await world.show(link, `${real}/`, inner)).toEqual([
    { source: real, path: real },
    { source: real, path: link },
  ]);
});

test("what every program sees anyway needs no showing", async () => {
  expect(await openReadable(["/usr/local", "/usr/bin"], { own: [], asAnother: true })).toEqual([]);
});

const sight = (command: string[], more: Partial<Sight> = {}): Sight => ({
  command,
  path: "/usr/bin:/bin",
  app: undefined,
  readable: [],
  elsewhere: [],
  ...more,
});
const advice = (...folders: string[]) =>
  `to MILLRACE_HOST_READABLE, such as MILLRACE_HOST_READABLE=${folders.join(":")}`;

onDisk("a program that is on the machine and not shown is named with its folder and the setting", async () => {
  await using world = await place();
  const python = await world.program("venv/bin/python");
  const venv = join(world.path, "venv");
  const said = `${python} exists on this machine but is not shown to programs: add its folder ${advice(venv)}`;
  expect(await unseenProgram(sight([python, "-m", "app"]))).toBe(said);
  expect(await unseenProgram(sight(["sh", "-c", `cd /app && ${python} app.py`]))).toBe(said);
  expect(await unseenProgram(sight(["python"], { path: `${venv}/bin:/usr/bin` }))).toBe(said);
  expect(await unseenProgram(sight([python], { readable: [{ source: venv, path: venv }] }))).toBeUndefined();
  expect(await unseenProgram(sight([python], { elsewhere: [world.path] }))).toBeUndefined();
});

onDisk("a link and a script name what they lead to, from the image's folder and from one that is shown", async () => {
  await using world = await place();
  const python = await world.program("versions/3/bin/python3");
  const versions = join(world.path, "versions/3");
  const app = await world.folder("app");
  await mkdir(join(app, "venv/bin"), { recursive: true });
  await symlink(python, join(app, "venv/bin/python"));
  const inApp = `/app/venv/bin/python needs ${python}, which exists on this machine but is not shown to programs: add its folder ${advice(versions)}`;
  expect(await unseenProgram(sight(["venv/bin/python"], { app }))).toBe(inApp);
  expect(await unseenProgram(sight(["/app/venv/bin/python"], { app }))).toBe(inApp);
  const venv = await world.folder("venv");
  await mkdir(join(venv, "bin"));
  await symlink(python, join(venv, "bin/python"));
  const script = await world.program("venv/bin/serve", `#!${join(venv, "bin/python")}\n`);
  const shown = { readable: [{ source: venv, path: venv }] };
  expect(await unseenProgram(sight([script], shown))).toContain(`${script} needs ${python}, which exists`);
  expect(await unseenProgram(sight([script], shown))).toContain(advice(venv, versions));
  expect(await unseenProgram(sight([script]))).toBe(
    `${script} exists on this machine but is not shown to programs: add its folder and that of ${python}, which it needs, ${advice(venv, versions)}`,
  );
});

onDisk("what is nowhere, and what is found, needs no explanation", async () => {
  await using world = await place();
  const app = await world.folder("app");
  await symlink("loop", join(app, "loop"));
  for (const command of [["/bin/sh"], ["sh"], ["/nowhere/python"], ["nothing"], ["./loop"], ["./missing"], [""], []])
    expect(await unseenProgram(sight(command, { app }))).toBeUndefined();
});
