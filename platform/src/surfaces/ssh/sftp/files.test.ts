/** Files over SFTP, using only programs that every image with a shell has. The tests use those of this machine. */
import { chmod, mkdir, readFile, statfs, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client, SFTPWrapper } from "ssh2";
import { expect, test } from "vitest";
import { executeHere } from "../../../../tests/local-execution.ts";
import { temporaryFolder } from "../../../../tests/process.ts";
import { setupSsh } from "../../../../tests/ssh-world.ts";
import { writeTo } from "../../../ports/compute/execution.ts";
import type { FakeExecution } from "../../../ports/compute/fake-execution.ts";

/** The shell of this machine runs what would run in the Pod, without an SFTP server of its own. */
async function play(program: FakeExecution, cwd: string): Promise<void> {
  const cmd = program.spec.cmd.map((word) => word.replaceAll("/sftp-server", "/none-such"));
  const here = await executeHere({ cmd }, cwd);
  program.onHangUp = () => here.close();
  program.stdin.pipe(here.stdin);
  const pass = async (stream: "stdout" | "stderr") => {
    for await (const piece of here[stream]) await writeTo(program[stream], piece as Buffer);
  };
  const [{ code }] = await Promise.all([here.exit, pass("stdout"), pass("stderr")]);
  program.end({ code });
}

async function setup() {
  const opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const world = opened.use(await setupSsh());
  world.plays((program) => void play(program, folder.path));
  const client = opened.use(await world.logIn());
  const sftp = await sftpOn(client);
  return { world, client, sftp, path: folder.path, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const sftpOn = (client: Client) =>
  new Promise<SFTPWrapper>((resolve, reject) => client.sftp((error, sftp) => (error ? reject(error) : resolve(sftp))));

/** Turns a call of the client into a promise. */
const ask = <T = void>(call: (done: (error: Error | null | undefined, value: T) => void) => void) =>
  new Promise<T>((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));

test("go there and back unchanged, whatever they are called", async () => {
  await using at = await setup();
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 251));
  for (const name of ["plain", "it's one", "-n", "two\nlines", '"; rm -rf $HOME'])
    for (const content of name === "plain" ? [bytes, Buffer.alloc(0)] : [Buffer.from(name)]) {
      await ask((done) => at.sftp.writeFile(name, content, done));
      expect((await readFile(join(at.path, name))).equals(content)).toBe(true);
      expect((await ask<Buffer>((done) => at.sftp.readFile(name, done))).equals(content)).toBe(true);
    }
  const names = (await ask<{ filename: string }[]>((done) => at.sftp.readdir(".", done))).map(
    ({ filename }) => filename,
  );
  expect(names.toSorted()).toEqual(['"; rm -rf $HOME', "-n", "it's one", "plain", "two\nlines"].toSorted());
});

test("are read and written at any place", async () => {
  await using at = await setup();
  await writeFile(join(at.path, "file"), "0123456789");
  const handle = await ask<Buffer>((done) => at.sftp.open("file", "r+", done));
  const read = async (from: number, length: number) => {
    const into = Buffer.alloc(length);
    const count = await ask<number>((done) => at.sftp.read(handle, into, 0, length, from, done));
    return into.subarray(0, count).toString();
  };
  expect([await read(7, 2), await read(2, 3)]).toEqual(["78", "234"]);
  for (const [text, to] of [
    ["AB", 4],
    ["C", 6],
    ["Z", 12],
  ] as const)
    await ask((done) => at.sftp.write(handle, Buffer.from(text), 0, text.length, to, done));
  expect(await read(0, 7)).toBe("0123ABC");
  await ask((done) => at.sftp.close(handle, done));
  expect(await readFile(join(at.path, "file"), "latin1")).toBe("0123ABC789\0\0Z");
  await ask((done) => at.sftp.appendFile("file", "!", done));
  expect(await readFile(join(at.path, "file"), "latin1")).toBe("0123ABC789\0\0Z!");
});

test("are described, changed, moved and removed", async () => {
  await using at = await setup();
  const { sftp } = at;
  await writeFile(join(at.path, "a"), "12345");
  await chmod(join(at.path, "a"), 0o640);
  await symlink("a", join(at.path, "link"));
  const stats = await ask<{ size: number; mode: number }>((done) => sftp.stat("link", done as never));
  expect([stats.size, stats.mode]).toEqual([5, 0o100640]);
  expect(await ask<string>((done) => sftp.readlink("link", done))).toBe("a");
  expect(await ask<string>((done) => sftp.realpath("./link", done))).toBe(`${at.path}/a`);
  await ask((done) => sftp.setstat("a", { size: 3, mode: 0o600, atime: 5, mtime: 1000 } as never, done));
  expect(await ask((done) => sftp.stat("a", done as never))).toMatchObject({ size: 3, mode: 0o100600, mtime: 1000 });
  await ask((done) => sftp.mkdir("sub", done));
  await ask((done) => sftp.rename("a", "sub/b", done));
  expect(await readFile(join(at.path, "sub/b"), "latin1")).toBe("123");
  await ask((done) => sftp.unlink("sub/b", done));
  await ask((done) => sftp.rmdir("sub", done));
});

test("what cannot be is said with the word of the protocol for it", async () => {
  await using at = await setup();
  const { sftp } = at;
  await mkdir(join(at.path, "folder"));
  await writeFile(join(at.path, "there"), "");
  const codes = await Promise.all([
    ask<Buffer>((done) => sftp.open("nosuch", "r", done)).catch((error) => error.code),
    ask<Buffer>((done) => sftp.open("no/such", "w", done)).catch((error) => error.code),
    ask<Buffer>((done) => sftp.open("there", "wx", done)).catch((error) => error.code),
    ask<Buffer>((done) => sftp.open("folder", "r", done)).catch((error) => error.code),
    ask((done) => sftp.mkdir("folder", done)).catch((error) => error.code),
    ask((done) => sftp.rename("folder", "there", done)).catch((error) => error.code),
    ask((done) => sftp.close(Buffer.from("9"), done)).catch((error) => error.code),
    ask((done) => sftp.ext_openssh_statvfs("nosuch", done as never)).catch((error) => error.code),
    ask((done) => sftp.ext_openssh_hardlink("there", "too", done as never)).catch(() => "unknown"),
  ]);
  expect(codes).toEqual([2, 2, 4, 4, 4, 4, 4, 2, "unknown"]);
});

test("tell how large their disk is, and how much of it is free", async () => {
  await using at = await setup();
  const { sftp } = at;
  await writeFile(join(at.path, "file"), "");
  const handle = await ask<Buffer>((done) => sftp.open("file", "r", done));
  const here = await statfs(at.path);
  const ways = [
    ask<VfsStats>((done) => sftp.ext_openssh_statvfs(".", done as never)),
    ask<VfsStats>((done) => sftp.ext_openssh_fstatvfs(handle, done as never)),
  ];
  for (const told of await Promise.all(ways)) {
    expect([told.f_blocks, told.f_files, told.f_bsize]).toEqual([here.blocks, here.files, here.bsize]);
    expect(told.f_namemax).toBe(255);
    for (const free of [told.f_bfree, told.f_bavail]) expect(free).toBeLessThanOrEqual(here.blocks);
    expect(told.f_bavail).toBeGreaterThan(0);
  }
});

interface VfsStats {
  f_bsize: number;
  f_blocks: number;
  f_bfree: number;
  f_bavail: number;
  f_files: number;
  f_namemax: number;
}

test("one that breaks off has not been read to its end", async () => {
  await using at = await setup();
  await writeFile(join(at.path, "file"), "x".repeat(1000));
  at.world.plays((program) => {
    void program.write("half");
    program.end({ signal: "SIGKILL" });
  });
  await expect(ask<Buffer>((done) => at.sftp.readFile("file", done))).rejects.toMatchObject({ code: 4 });
});

test("no more than so many are open at once", async () => {
  await using at = await setup();
  await writeFile(join(at.path, "file"), "x");
  const open = () => ask<Buffer>((done) => at.sftp.open("file", "r", done));
  for (let n = 0; n < 16; n++) await open();
  await expect(open()).rejects.toMatchObject({ message: expect.stringContaining("16 files") });
});
