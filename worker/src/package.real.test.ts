/** The library as npm users get it: packed, installed in its own folder, and run from there. */
import { execFile } from "node:child_process";
import { cp, mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { packWorker } from "../../scripts/pack-libraries.ts";

const execute = promisify(execFile);

test("the packed library runs a handler, brings its types and needs no other package", async () => {
  await using folder = await temporaryFolder();
  const inFolder = { cwd: folder.path };
  const tarball = await packWorker(folder.path);
  await writeFile(join(folder.path, "package.json"), `{ "type": "module" }`);
  await execute("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], inFolder);
  const worker = `import { start } from "millrace-worker";\nstart({ handler: ({ input }) => ({ twice: input.number * 2 }) });\n`;
  await writeFile(join(folder.path, "worker.js"), worker);

  const { stdout } = await execute(
    process.execPath,
    ["worker.js", "--test_input", `{"input":{"number":21}}`],
    inFolder,
  );
  const installed = await execute("npm", ["ls", "--all", "--parseable"], inFolder);

  expect(JSON.parse(stdout)).toEqual({ output: { twice: 42 } });
  expect(installed.stdout.trim().split("\n")).toHaveLength(2);
  await execute("ls", ["node_modules/millrace-worker/dist/main.d.ts"], inFolder);
});

test("a worker loads none of Node's own HTTP client, which would take most of its start", async () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const program = `import { start } from ${JSON.stringify(main)};
    start({ handler: () => 1, log() {} });
    console.log(JSON.stringify(process.moduleLoadList));
    process.exit();`;
  const place = { MILLRACE_URL: "http://127.0.0.1:9", MILLRACE_ENDPOINT_ID: "ep", MILLRACE_WORKER_ID: "w" };
  const { stdout } = await execute(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...place, MILLRACE_WORKER_KEY: "key" },
  });
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain("NativeModule _http_client");
  expect(loaded.filter((name) => name.includes("undici"))).toEqual([]);
});

const PACKING = fileURLToPath(new URL("../../scripts/pack-worker.sh", import.meta.url));

test("the README's command packs with the pinned Node, whatever Node is found first", async () => {
  await using folder = await temporaryFolder();
  const old = join(folder.path, "old");
  await mkdir(old);
  await writeFile(join(old, "node"), "#!/bin/sh\necho this Node reads no types >&2; exit 9\n", { mode: 0o755 });
  // npm itself runs on Node and uses its own.
  const npm = `#!/bin/sh\nPATH=${process.env.PATH} exec npm "$@"\n`;
  await writeFile(join(old, "npm"), npm, { mode: 0o755 });
  const env = { PATH: `${old}:/usr/bin:/bin` };
  const { stdout } = await execute("sh", [PACKING, "."], { cwd: folder.path, env });
  expect(stdout.trim()).toBe(join(await realpath(folder.path), "millrace-worker-0.1.0.tgz"));
});

test("without the development packages it says what to run first", async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, "scripts"));
  await cp(PACKING, join(folder.path, "scripts/pack-worker.sh"));
  await expect(execute("sh", [join(folder.path, "scripts/pack-worker.sh"), "."])).rejects.toMatchObject({
    code: 1,
    stderr: `pack-worker: needs the TypeScript compiler, which the server does without: run 'npm install --include=dev' in ${folder.path}, then this again\n`,
  });
});
