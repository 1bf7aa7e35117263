/** Commands as processes: which files each loads, and that a mistyped folder is left alone. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { launcher, millrace, root, run, temporaryFolder } from "./process.ts";

/** At the end, writes the file URL of every loaded module to standard error. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
  process.on("exit", () => console.error(loaded.filter((url) => url.startsWith("file:")).join("\\n")));
`)}`;

async function loadedBy(...args: string[]): Promise<string[]> {
  // Built code has other files, made from the same sources, so the sources are run here.
  const env = { NODE_OPTIONS: `--import=${LISTING}`, MILLRACE_FROM_SOURCE: "1" };
  const { stderr } = await run(launcher, args, { env });
  const here = pathToFileURL(root).href;
  const loaded = stderr.split("\n").filter((line) => line.startsWith(here));
  return loaded.map((url) => url.slice(here.length));
}

/** The parts that make a server and take most of its start: validation, log, surfaces, queue, and what runs programs. */
const OF_A_SERVER =
  /node_modules\/(ajv|pino|ws|graphql|undici|pg|ssh2)\/|platform\/src\/(main|composition\/(app|services|surfaces|keeping))\.ts$|src\/(surfaces|resources\/(workers|pods)\/running|adapters\/(host|docker|postgres)|balancing)\/|sqlite-queue/;

describe("a command loads what it needs, and nothing of a server:", () => {
  test.each([
    [30, ["--help"]],
    [30, ["no-such-verb"]],
    [117, ["keys", "list"]],
    [117, ["keys", "create", "--scopes", "all"]],
    [117, ["keys", "revoke", "nothing"]],
    [115, ["accounts", "list"]],
    [115, ["accounts", "create", "team"]],
    [115, ["prices", "list"]],
    [118, ["worker-env", "nothing"]],
    [100, ["serve", "--help"]],
  ])("at most %i files for %j", async (most, args) => {
    await using folder = await temporaryFolder();
    await millrace(folder.path, "keys", "create", "--scopes", "all");
    const loaded = await loadedBy(...args, ...(args.length > 1 ? ["--data", folder.path] : []));
    expect(loaded).toContain("cli/src/main.ts");
    expect(loaded.filter((path) => OF_A_SERVER.test(path))).toEqual([]);
    expect(loaded.length).toBeLessThanOrEqual(most);
  });
});

test.each([
  [60, ["secrets", "list"]],
  [70, ["pods", "list"]],
  [30, ["ps"]],
])("a verb over the API loads at most %i files for %j, and nothing of a server", async (most, args) => {
  await using folder = await temporaryFolder();
  const key = join(folder.path, "key");
  await writeFile(key, "a-key");
  const loaded = await loadedBy(...args, "--url", "http://127.0.0.1:1", "--key-file", key);
  expect(loaded).toContain("cli/src/api.ts");
  expect(loaded.filter((path) => OF_A_SERVER.test(path))).toEqual([]);
  expect(loaded.length).toBeLessThanOrEqual(most);
});

describe("without an installation", () => {
  const commands = [
    ["keys", "list"],
    ["keys", "revoke", "id"],
    ["accounts", "list"],
    ["accounts", "create", "team"],
    ["accounts", "delete", "team", "--yes"],
    ["prices", "list"],
    ["worker-env", "id"],
    ["master-key", "rotate"],
  ];

  test.each([...commands, ["keys", "create", "--scopes", "all"]].map((args) => [args]))(
    "%j makes no folder, and says that there is none",
    async (args) => {
      await using folder = await temporaryFolder();
      const typo = join(folder.path, "typo");
      const { code, stdout, stderr } = await run(launcher, [...args, "--data", typo]);
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        `millrace: there is no installation in ${typo}: the folder does not exist. Name the right folder by --data or MILLRACE_DATA, ` +
          "or make an installation with 'millrace serve'.\n",
      ]);
      expect(await readdir(folder.path)).toEqual([]);
    },
  );

  test("a folder that holds other things, and a file, are no installation and stay as they are", async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "notes");
    await writeFile(file, "mine");
    for (const [data, why] of [
      [folder.path, "the folder holds no store.db"],
      [file, "it is a file"],
    ] as const) {
      const { code, stderr } = await run(launcher, ["keys", "create", "--scopes", "all", "--data", data]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`no installation in ${data}: ${why}`)]);
    }
    expect(await readdir(folder.path)).toEqual(["notes"]);
  });

  test("a key can be made in an empty folder, before a server runs on it", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "data");
    await mkdir(data);
    expect(Object.keys(await millrace(data, "keys", "create", "--scopes", "all"))).toEqual(["id", "key"]);
  });
});
