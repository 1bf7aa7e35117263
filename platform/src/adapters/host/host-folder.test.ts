/** Which folders of this machine programs may be given, and whose programs may have them. */
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseMounts } from "../machine/mounts.ts";
import { checkFolderExists, type FolderRules, findFolder, MissingFolder, refusalOf } from "./host-folder.ts";

interface Place extends AsyncDisposable {
  path: string;
  app: string;
  find(folder: string, options?: { owner?: boolean; rules?: Partial<FolderRules> }): Promise<string | undefined>;
}

const notFor = (path: string) =>
  `there is no folder ${path} on this machine that programs may be given: it has to exist, be open to others as every folder above it is (chmod o+rX), and hold no socket`;

/** A folder that is open to all and holds a project, and a data folder elsewhere. */
async function place(): Promise<Place> {
  const path = await mkdtemp(join(tmpdir(), "millrace-folders-"));
  const app = join(path, "app");
  await mkdir(app);
  await chmod(path, 0o755);
  await chmod(app, 0o755);
  return {
    path,
    app,
    async find(folder, { owner = false, rules } = {}) {
      const all = { data: "/nowhere/data", asAnother: true, ...rules };
      return (await findFolder(`host:${folder}`, all, owner))?.path;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

test.each(["/proc", "/proc/self", "/sys", "/sys/fs", "/dev", "/dev/shm", "/run", "/run/lock", "/proc/self/root/proc"])(
  "%s is the machine's own, for whomever",
  async (folder) => {
    await using world = await place();
    for (const owner of [true, false])
      await expect(world.find(folder, { owner })).rejects.toThrow(
        /which is the machine's own: name a folder of a project/,
      );
  },
);

test.each(["/", "/etc", "/var", "/root", "/etc/", "//etc", "/var/../etc", "/usr/.."])(
  "%s is no project",
  async (folder) => {
    await using world = await place();
    await expect(world.find(folder, { owner: true })).rejects.toThrow(/is the machine's own folder/);
  },
);

test("a symbolic link is what it leads to, at each look", async () => {
  await using world = await place();
  const link = join(world.path, "link");
  await symlink(world.app, link);
  expect(await world.find(link)).toBe(world.app);
  await rm(link);
  await symlink("/proc", link);
  await expect(world.find(link, { owner: true })).rejects.toThrow("is part of /proc");
  await rm(link);
  await symlink("/etc", link);
  await expect(world.find(link, { owner: true })).rejects.toThrow("is the machine's own folder /etc");
});

test("what takes a folder's place is another one", async () => {
  await using world = await place();
  const look = async () =>
    (await findFolder(`host:${world.app}`, { data: "/nowhere", asAnother: true }, true))?.identity;
  const before = await look();
  expect(await look()).toBe(before);
  await rename(world.app, join(world.path, "old"));
  await mkdir(world.app);
  await chmod(world.app, 0o755);
  expect(await look()).not.toBe(before);
});

test("the data folder, what is in it and what holds it are nobody's", async () => {
  await using world = await place();
  const data = join(world.path, "data");
  await mkdir(join(data, "instances"), { recursive: true });
  const link = join(world.path, "elsewhere");
  await symlink(data, link);
  for (const folder of [data, join(data, "instances"), world.path, link])
    await expect(world.find(folder, { owner: true, rules: { data } })).rejects.toThrow("data folder");
  await expect(world.find(world.path, { owner: true, rules: { data: link } })).rejects.toThrow("data folder");
  expect(await world.find(world.app, { rules: { data } })).toBe(world.app);
});

test("a folder below a closed one is the owner's alone", async () => {
  await using world = await place();
  const home = join(world.path, "home");
  const project = join(home, "project", "app");
  await mkdir(project, { recursive: true });
  for (const folder of [join(home, "project"), project]) await chmod(folder, 0o755);
  await chmod(home, 0o700);
  expect(await world.find(project, { owner: true })).toBe(project);
  await expect(world.find(project)).rejects.toThrow(notFor(project));
  await expect(world.find(project, { rules: { asAnother: false } })).rejects.toThrow(notFor(project));
  expect(await world.find(project, { rules: { roots: [join(home, "project")] } })).toBe(project);
  expect(await world.find(project, { rules: { roots: [project] } })).toBe(project);
});

test("within an operator's folder those on the way count", async () => {
  await using world = await place();
  const closed = join(world.app, "closed");
  const below = join(closed, "below");
  await mkdir(below, { recursive: true });
  await chmod(below, 0o755);
  await chmod(closed, 0o700);
  await expect(world.find(below, { rules: { roots: [world.app] } })).rejects.toThrow(notFor(below));
});

test("a folder that others cannot read is refused where programs run as others", async () => {
  await using world = await place();
  await chmod(world.app, 0o750);
  await expect(world.find(world.app, { owner: true })).rejects.toThrow(`chmod o+rX ${world.app}`);
  expect(await world.find(world.app, { owner: true, rules: { asAnother: false } })).toBe(world.app);
  await expect(world.find(world.app, { rules: { asAnother: false } })).rejects.toThrow(notFor(world.app));
});

test("an operator's list of folders holds for everybody, links resolved", async () => {
  await using world = await place();
  const rules = { roots: ["/srv/apps", join(world.path, "apps")] };
  await expect(world.find(world.app, { owner: true, rules })).rejects.toThrow(
    `${world.app} is in none of the folders that programs may come from: /srv/apps, ${world.path}/apps`,
  );
  await symlink(world.app, join(world.path, "apps"));
  expect(await world.find(world.app, { owner: true, rules })).toBe(world.app);
});

test("a folder with a socket in it, near or below, is refused and the socket named", async () => {
  await using world = await place();
  const deep = join(world.app, "a", "b");
  await mkdir(deep, { recursive: true });
  const socket = join(deep, "s");
  await using _ = await listening(socket);
  await expect(world.find(world.app, { owner: true })).rejects.toThrow(`holds a socket, ${socket}, by which`);
});

test("what packages and history hold is not looked through", async () => {
  await using world = await place();
  await mkdir(join(world.app, "node_modules"));
  await using _ = await listening(join(world.app, "node_modules", "s"));
  expect(await world.find(world.app, { owner: true })).toBe(world.app);
});

test("a missing folder and a file are none, and the owner reads which and what to do", async () => {
  await using world = await place();
  const file = join(world.app, "file");
  await writeFile(file, "");
  for (const path of [join(world.app, "gone"), file, "/a\0b"])
    await expect(world.find(path)).rejects.toThrow(MissingFolder);
  const gone = join(world.app, "gone");
  await expect(world.find(gone, { owner: true })).rejects.toThrow(
    `there is no folder ${gone} on this machine: make it`,
  );
  await expect(world.find(file, { owner: true })).rejects.toThrow(`${file} is no folder: name the folder`);
});

test("another account reads the same of what is there and may not be given as of what is not", async () => {
  await using world = await place();
  const [closed, file, link] = ["closed", "file", "link"].map((name) => join(world.path, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(join(closed, "below"), { recursive: true });
  await chmod(closed, 0o700);
  await writeFile(file, "");
  await symlink("/proc", link);
  const data = join(world.path, "data");
  await mkdir(data);
  await using _ = await listening(join(world.app, "s"));
  const probes = [
    closed,
    join(closed, "below"),
    join(closed, "gone"),
    file,
    link,
    data,
    world.app,
    join(world.path, "gone"),
  ];
  for (const path of probes) {
    const image = `host:${path}`;
    const finding = () => findFolder(image, { data, asAnother: true }, false);
    expect(await refusalOf(finding(), true)).toBe(notFor(path));
    expect(await refusalOf(finding(), false)).toBeUndefined();
    await expect(finding()).rejects.toThrow(notFor(path));
  }
  await expect(checkFolderExists(`host:${world.path}/gone`)).rejects.toThrow(notFor(`${world.path}/gone`));
});

test("a folder that is not here is refused at once where no other machine could have it", async () => {
  await using world = await place();
  const gone = join(world.app, "gone");
  const finding = () => findFolder(`host:${gone}`, { data: "/nowhere", asAnother: true }, true);
  expect(await refusalOf(finding(), true)).toContain(`there is no folder ${gone}`);
  expect(await refusalOf(finding(), false)).toBeUndefined();
});

test("the kernel's mounts are read with the spaces in their names", () => {
  const lines = "22 1 0:21 / /srv/a\\040b rw shared:1 - proc proc rw\n23 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
  expect(parseMounts(lines)).toEqual([
    { path: "/srv/a b", type: "proc" },
    { path: "/", type: "ext4" },
  ]);
});

async function listening(path: string): Promise<AsyncDisposable> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())) };
}
