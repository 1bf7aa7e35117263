/** Runs every example of the README as its own process against a server in another process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Folder,
  millrace,
  ownerKey,
  run,
  type Server,
  startServer,
  temporaryFolder,
} from "../../platform/tests/process.ts";

const examples = fileURLToPath(new URL("../examples/", import.meta.url));
const node = process.execPath;

let data: Folder;
let server: Server;
let key: string;

beforeAll(async () => {
  data = await temporaryFolder();
  server = await startServer(data.path, { args: ["--rate-limits", "off"] });
  key = await ownerKey(data.path);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

interface Example extends AsyncDisposable {
  process: ChildProcess;
  invoke(method: string, path: string, input?: object): Promise<{ status: number; json: Record<string, unknown> }>;
  /** Resolves with all standard output when the process has ended. */
  ended: Promise<{ code: number | null; output: string }>;
}

/** Starts this example as the worker of a new endpoint. */
async function startExample(name: string, env: Record<string, string> = {}): Promise<Example> {
  const body = { name, image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const created = await server.call("POST", "/v2/serverless", { key, body });
  const endpoint = created.json.id as string;
  const variables = await millrace(data.path, "worker-env", endpoint, "--url", server.url);
  const child = spawn(node, ["--disable-warning=ExperimentalWarning", join(examples, name)], {
    env: { PATH: process.env.PATH ?? "", ...variables, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return {
    process: child,
    ended,
    invoke: (method, path, input) =>
      server.call(method, `/v2/${endpoint}${path}`, { key, ...(input ? { body: { input } } : {}) }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

test("every example stands in the README, word for word, and has a test here", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const own = await readFile(fileURLToPath(import.meta.url), "utf8");
  const names = await readdir(examples);
  expect(names.length).toBeGreaterThanOrEqual(7);
  for (const name of names) {
    const [, ...code] = (await readFile(join(examples, name), "utf8")).split("\n");
    expect(readme).toContain(code.join("\n"));
    expect(own).toContain(`startExample("${name}"`);
  }
});

test("plain: what it returns is the output; SIGTERM ends it with 0", async () => {
  await using example = await startExample("plain.ts");
  const { json } = await example.invoke("POST", "/runsync", { name: "Ada" });
  expect(json).toMatchObject({ status: "COMPLETED", output: { greeting: "Hello, Ada!" } });
  example.process.kill("SIGTERM");
  expect((await example.ended).code).toBe(0);
});

test("async: a file is read, and a missing one fails the job with the reason", async () => {
  await using example = await startExample("async.ts");
  const file = join(data.path, "three.txt");
  await writeFile(file, "1\n2\n3");
  const [good, bad] = await Promise.all([
    example.invoke("POST", "/runsync", { path: file }),
    example.invoke("POST", "/runsync", { path: join(data.path, "missing.txt") }),
  ]);
  expect(good.json).toMatchObject({ status: "COMPLETED", output: { lines: 3 } });
  expect(bad.json).toMatchObject({ status: "FAILED", error: expect.stringContaining("ENOENT") });
});

test("stream: the yielded values are the output", async () => {
  await using example = await startExample("stream.ts");
  const { json } = await example.invoke("POST", "/runsync", { text: "one two three" });
  expect(json).toMatchObject({ status: "COMPLETED", output: ["one", "two", "three"] });
});

test("progress: the job ends with what it gathered", async () => {
  await using example = await startExample("progress.ts");
  const { json } = await example.invoke("POST", "/runsync", { pages: ["data:,abc", "data:,abcdef"] });
  expect(json).toMatchObject({ status: "COMPLETED", output: [3, 6] });
});

test("cancel: a sleeping job wakes up when it is cancelled", async () => {
  await using example = await startExample("cancel.ts");
  expect((await example.invoke("POST", "/runsync", { seconds: 0.01 })).json.output).toBe("slept well");
  const { json } = await example.invoke("POST", "/run", { seconds: 3600 });
  // A second job runs only once the first is out of the way.
  const next = example.invoke("POST", "/runsync", { seconds: 0 });
  await example.invoke("POST", `/cancel/${json.id}`);
  expect((await next).json.output).toBe("slept well");
  expect((await example.invoke("GET", `/status/${json.id}`)).json.status).toBe("CANCELLED");
});

test("fitness: with its model it works, without it ends with 1", async () => {
  await using fit = await startExample("fitness.ts", { MODEL: join(examples, "fitness.ts") });
  expect((await fit.invoke("POST", "/runsync", {})).json.output).toBe("fit");
  await using unfit = await startExample("fitness.ts", { MODEL: "/nowhere" });
  expect((await unfit.ended).code).toBe(1);
});

test("refresh: it ends by itself after a job that asks for it", async () => {
  await using example = await startExample("refresh.ts");
  expect((await example.invoke("POST", "/runsync", { size: 1 })).json.output).toEqual({ size: 1 });
  expect((await example.invoke("POST", "/runsync", { size: 2000 })).json.output).toEqual({ size: 2000 });
  expect((await example.ended).code).toBe(0);
});

test("a local test needs no server: from the command line, from a file, and with a failing job", async () => {
  const example = join(examples, "plain.ts");
  const given = await run(node, [example, "--test-input", '{"input":{"name":"Ada"}}']);
  expect([given.code, given.stdout.trim()]).toEqual([0, '{"output":{"greeting":"Hello, Ada!"}}']);
  const cwd = join(data.path, "local");
  await mkdir(cwd);
  await writeFile(join(cwd, "test_input.json"), '{"input":{"path":"/nowhere"}}');
  const failed = await run(node, [join(examples, "async.ts")], { cwd });
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining("ENOENT")]);
  const nothing = await run(node, [example], { cwd: examples });
  expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining("test_input.json")]);
});
