/** The launcher and built code: what runs is always made from the current sources. */
import { cp, mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { PROGRAMS } from "../../scripts/build/programs.ts";
import { launcher, root, run, temporaryFolder } from "./process.ts";

/** Copies the parts of a repository that the launcher and the build need. The program is one line. */
async function smallRepository() {
  const folder = await temporaryFolder();
  const at = (path: string) => join(folder.path, path);
  for (const path of ["millrace", "scripts/build.ts", "scripts/build"])
    await cp(join(root, path), at(path), { recursive: true });
  for (const path of ["package-lock.json", "worker/src/main.ts", ...PROGRAMS.map((name) => `platform/src/${name}`)]) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), "");
  }
  await mkdir(at("node_modules"));
  for (const name of await readdir(join(root, "node_modules")))
    if (name !== ".cache") await symlink(join(root, "node_modules", name), at(`node_modules/${name}`));
  const main = at("cli/src/main.ts");
  await mkdir(dirname(main), { recursive: true });
  const writeProgram = async (says: string) => {
    await writeFile(main, `const said: string = "${says}"; console.log(said, process.argv[1]!.endsWith(".ts"));\n`);
    // As if it came from an archive: the time of the last change means nothing.
    await utimes(main, 0, 0);
  };
  const start = (env: Record<string, string> = {}) => run(at("millrace"), [], { env });
  return { at, main, writeProgram, start, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test("the launcher starts built code, and builds it again when a source has changed", async () => {
  await using repository = await smallRepository();
  await repository.writeProgram("one");
  expect((await repository.start()).stdout).toBe("one false\n");
  expect((await repository.start()).stdout).toBe("one false\n");
  await repository.writeProgram("two");
  expect((await repository.start()).stdout).toBe("two false\n");
});

test("the repository itself is built, and starts from there", async () => {
  const says = `data:text/javascript,${encodeURIComponent("console.error(process.argv[1])")}`;
  const { stderr } = await run(launcher, ["--help"], { env: { NODE_OPTIONS: `--import=${says}` } });
  expect(stderr).toMatch(/node_modules\/\.cache\/built\/[0-9a-f]{12}\/main\.cjs\n/);
});

test("several that start at once build once", async () => {
  await using repository = await smallRepository();
  await repository.writeProgram("one");
  const started = await Promise.all([1, 2, 3].map(() => repository.start()));
  expect(started.map(({ stdout }) => stdout)).toEqual(Array(3).fill("one false\n"));
  const builds = (await readdir(repository.at("node_modules/.cache/built"))).filter((name) =>
    /^[0-9a-f]{12}$/.test(name),
  );
  expect(builds).toHaveLength(1);
});

test("sources that cannot be built run as they are, and so does whatever asks for them", async () => {
  await using repository = await smallRepository();
  await repository.writeProgram("one");
  expect((await repository.start({ MILLRACE_FROM_SOURCE: "1" })).stdout).toBe("one true\n");
  await writeFile(repository.at("scripts/build.ts"), "throw new Error('no bundler here');");
  expect((await repository.start()).stdout).toBe("one true\n");
  await repository.writeProgram("two");
  expect((await repository.start()).stdout).toBe("two true\n");
});

test("where the machine cannot list the sources, they run as they are", async () => {
  await using repository = await smallRepository();
  await repository.writeProgram("one");
  await mkdir(repository.at("bin"));
  await writeFile(repository.at("bin/find"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const PATH = `${repository.at("bin")}:${process.env.PATH}`;
  expect((await repository.start({ PATH })).stdout).toBe("one true\n");
  await repository.writeProgram("two");
  expect((await repository.start({ PATH })).stdout).toBe("two true\n");
});
