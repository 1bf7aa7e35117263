/** The library as npm users get it: packed, installed in a folder of its own, and run from there. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { packWorker } from "../../scripts/pack-worker.ts";

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
