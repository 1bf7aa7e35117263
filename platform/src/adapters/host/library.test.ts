/** The worker library as programs in the sandbox get it. */
import { cp, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plainLibrary } from "./library.ts";

const LIBRARY = join(import.meta.dirname, "../../../../worker");

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-library-"));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

test("it is JavaScript that Node runs as it is", async () => {
  await using world = await setup();
  const made = await plainLibrary(LIBRARY, world.folder);
  const { start } = await import(/* @vite-ignore */ join(made, "src/main.js"));
  expect(start).toBeTypeOf("function");
  expect((await readdir(join(made, "src"))).filter((name) => !name.endsWith(".js"))).toEqual([]);
});

test("it is made once for each version, and one that was broken off is made anew", async () => {
  await using world = await setup();
  const copy = join(world.folder, "copy");
  await cp(LIBRARY, copy, { recursive: true });
  const made = await plainLibrary(copy, world.folder);
  await rename(made, `${made}.unfinished`);
  await rm(join(`${made}.unfinished`, "package.json"));
  expect(await plainLibrary(copy, world.folder)).toBe(made);
  expect(await readdir(made)).toEqual(["package.json", "src"]);
  await writeFile(join(copy, "src/new.ts"), "export const news: string = 'new';\n");
  expect(await plainLibrary(copy, world.folder)).not.toBe(made);
});
