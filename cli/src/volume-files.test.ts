/** `millrace volumes ls|cp|sync|rm|…`: files go both ways, equal ones are skipped, and a broken download goes on. */
import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runLine } from "../../platform/tests/cli-shell.ts";
import { put, setupFiles } from "../../platform/tests/files-world.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { EXIT } from "./failure.ts";

async function setupVolume() {
  const [world, folder] = [await setupFiles(), await temporaryFolder()];
  const env = { MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key };
  const run = async (line: string) => (await runLine(env, `millrace volumes ${line}`)).out;
  return {
    world,
    run,
    here: folder.path,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** As new as a file can be, so that it counts as newer than any on the volume of a test. */
const LATER = new Date("2100-01-01T00:00:00Z");

test("a file goes to a volume and back, by the volume's name", async () => {
  await using at = await setupVolume();
  const file = join(at.here, "a.txt");
  await writeFile(file, "hello");
  expect(await at.run(`cp ${file} v:models/`)).toBe("copied 1 (5 B)\n");
  expect(await at.run("ls v:models")).toContain("FILE  5 B");
  const back = join(at.here, "back.txt");
  await at.run(`cp v:models/a.txt ${back}`);
  expect(await readFile(back, "utf8")).toBe("hello");
  expect(await at.run(`cp v:models/a.txt ${back}`)).toBe("copied 0 (0 B), 1 equal\n");
  await expect(at.run(`cp v:none ${back}`)).rejects.toMatchObject({ exitCode: EXIT.notFound });
  await expect(at.run("cp a b")).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
  await expect(at.run(`cp ${at.here} v:all`)).rejects.toThrow("add -r");
});

test("sync copies what differs and deletes what is gone, in both directions", async () => {
  await using at = await setupVolume();
  const source = join(at.here, "source");
  await mkdir(join(source, "in"), { recursive: true });
  for (const name of ["a", "in/b", "in/c"]) await writeFile(join(source, name), `text of ${name}`);
  const old = new Date("2020-01-01T00:00:00Z");
  for (const name of ["a", "in/b", "in/c"]) await utimes(join(source, name), old, old);
  expect(await at.run(`sync ${source} v:copy --json`)).toBe('{"copied":3,"skipped":0,"deleted":0,"bytes":33}\n');
  expect(await at.run(`sync ${source} v:copy`)).toBe("copied 0 (0 B), 3 equal\n");
  await writeFile(join(source, "in/b"), "text of x");
  await utimes(join(source, "in/b"), LATER, LATER);
  await rm(join(source, "in/c"));
  expect(await at.run(`sync ${source} v:copy --delete`)).toContain("1 equal, deleted 1");
  const target = join(at.here, "target");
  await at.run(`sync v:copy ${target}`);
  expect((await readdir(target, { recursive: true })).sort()).toEqual(["a", "in", "in/b"]);
  expect(await readFile(join(target, "in/b"), "utf8")).toBe("text of x");
  expect(await at.run(`sync v:copy ${target}`)).toBe("copied 0 (0 B), 2 equal\n");
  await writeFile(join(target, "extra"), "");
  expect(await at.run(`sync v:copy ${target} --delete`)).toContain("deleted 1");
});

test("a download that broke off goes on behind the part that has come", async () => {
  await using at = await setupVolume();
  await put(at.world, "big", "0123456789");
  const { files } = JSON.parse(await at.run("ls v --json"));
  const mark = (files[0].etag as string).replaceAll(/\W/g, "").slice(0, 32);
  const target = join(at.here, "big");
  await writeFile(`${target}.${mark}.part`, "01234");
  expect(await at.run(`cp v:big ${target}`)).toBe("copied 1 (5 B)\n");
  expect(await readFile(target, "utf8")).toBe("0123456789");
  expect(await readdir(at.here)).toEqual(["big"]);
});

test("folders are made, moved, linked to and deleted", async () => {
  await using at = await setupVolume();
  expect(await at.run("mkdir v:one/two")).toBe("made v:one/two\n");
  await put(at.world, "one/two/f", "x");
  expect(await at.run("mv v:one v:first")).toBe("moved to v:first\n");
  expect(await at.run("ls v -r")).toBe("SIZE  NAME\n1 B   first/two/f\n");
  expect(await at.run("link v:first/two/f")).toMatch(/^http\S+\/files\/link\S+\n$/);
  await expect(at.run("rm v:first --yes")).rejects.toMatchObject({ exitCode: EXIT.failed });
  await expect(at.run("rm v:first -r")).rejects.toThrow("add --yes to do it");
  await at.run("rm v:first -r --yes");
  expect(JSON.parse(await at.run("ls v --json"))).toEqual({ files: [] });
});
