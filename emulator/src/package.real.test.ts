/** The packages as a project gets them from npm: installed into an empty folder, and used by its test suite in JavaScript and TypeScript. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root, temporaryFolder } from "../../platform/tests/process.ts";
import { pack } from "../../scripts/pack.ts";
import { packEmulator, packWorker } from "../../scripts/pack-libraries.ts";

const run = promisify(execFile);

const SUITE = `
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "@millrace/emulator";

let millrace;
before(async () => {
  millrace = await start();
});
after(() => millrace.stop());

test("an endpoint echoes, in virtual time", async () => {
  const headers = { authorization: \`Bearer \${millrace.key}\`, "content-type": "application/json" };
  const post = async (path, body) =>
    (await fetch(millrace.url + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
  const endpoint = await post("/v2/serverless", { name: "hello", image: "team/a:1", gpu: { id: "NVIDIA A40", count: 1 } });
  const job = await post(\`/v2/\${endpoint.id}/runsync\`, { input: { n: 1 } });
  assert.deepEqual(job.output, { n: 1 });
  const before = await millrace.now();
  assert.ok((await millrace.advance("30d")) > before);
});
`;

/** The same with types, which the compiler checks. A mistake in them must be one. */
const TYPED_SUITE = SUITE.replace("import { start }", "import { type Emulator, start }")
  .replace("let millrace;", "let millrace: Emulator;")
  .replace("(path, body)", "(path: string, body: object): Promise<any>")
  .concat(
    "\n// @ts-expect-error there is no such fault\nexport const wrong = () => millrace.fault({ kind: 'no-such' });\n",
  );

const WORKER = `
import { start } from "millrace-worker";

start({ handler: ({ input }) => ({ twice: input.number * 2 }) });
`;
const TYPED_WORKER = WORKER.replace("start({ handler", "start<{ number: number }>({ handler");

const TSCONFIG = {
  compilerOptions: {
    ...{ module: "nodenext", target: "es2023", strict: true, noEmit: true, types: ["node"] },
    ...{ allowImportingTsExtensions: true, typeRoots: [join(root, "node_modules/@types")] },
  },
  files: ["suite.ts", "worker.ts"],
};

test("the packed tarballs run a test suite and a worker in JavaScript and TypeScript, in a folder of their own", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const tarballs = await Promise.all([pack(folder.path), packWorker(folder.path), packEmulator(folder.path)]);
  await writeFile(at("package.json"), '{ "type": "module", "private": true }');
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...quiet, ...tarballs], { cwd: folder.path });
  const texts = { "suite.js": SUITE, "worker.js": WORKER, "suite.ts": TYPED_SUITE, "worker.ts": TYPED_WORKER };
  for (const [name, text] of Object.entries(texts)) await writeFile(at(name), text);
  await writeFile(at("tsconfig.json"), JSON.stringify(TSCONFIG));
  await run(process.execPath, [join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd: folder.path }).catch((error) => {
    throw new Error(error.stdout);
  });
  for (const language of ["js", "ts"]) {
    const suite = await run(process.execPath, ["--test", `suite.${language}`], { cwd: folder.path });
    expect(suite.stdout).toMatch(/pass 1\n/);
    const input = '{"input":{"number":21}}';
    const { stdout } = await run(process.execPath, [`worker.${language}`, "--test_input", input], { cwd: folder.path });
    expect(JSON.parse(stdout)).toEqual({ output: { twice: 42 } });
  }
  const { dependencies } = JSON.parse(await readFile(at("node_modules/@millrace/emulator/package.json"), "utf8"));
  expect(Object.keys(dependencies)).toEqual(["millrace"]);
});
