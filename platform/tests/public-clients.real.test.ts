/** The public npm clients of this API, unmodified, against a real server with a real worker: only the base URL differs. */
import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRunpod } from "@runpod/ai-sdk-provider";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import runpodSdk from "runpod-sdk";
import firstRunpodSdk from "runpod-sdk-1.0.7";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { versionOf } from "../../scripts/compatibility.ts";
import { startChild } from "./child.ts";
import { comparedWithMatrix } from "./compatibility.ts";
import { type Folder, millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

/** The version that was run last. */
const PYTHON_PACKAGE = "1.12.0";

let data: Folder;
let server: Server;
let worker: ChildProcess;
let key: string;
let endpointId: string;

beforeAll(async () => {
  data = await temporaryFolder();
  server = await startServer(data.path);
  key = await ownerKey(data.path);
  const body = { name: "mock", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  endpointId = (await server.call("POST", "/v2/serverless", { key, body })).json.id;
  const variables = await millrace(data.path, "worker-env", endpointId, "--url", server.url);
  const program = fileURLToPath(new URL("./fixtures/mock-worker.ts", import.meta.url));
  worker = startChild(process.execPath, [program], { PATH: process.env.PATH ?? "", ...variables });
});

afterAll(async () => {
  worker.kill("SIGTERM");
  await once(worker, "exit");
  await server[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

describe.each([
  ["1.1.2", runpodSdk],
  // This version sends the User-Agent of its HTTP library.
  ["1.0.7", firstRunpodSdk as unknown as typeof runpodSdk],
])("runpod-sdk %s", (version, sdk) => {
  comparedWithMatrix(import.meta.url, { client: "runpod-sdk", version });
  const client = () => sdk(key, { baseUrl: `${server.url}/v2` }).endpoint(endpointId)!;

  test("runSync returns the output", async () => {
    const result = await client().runSync({ input: { mock_return: { answer: 42 } } });
    expect(result).toMatchObject({ status: "COMPLETED", output: { answer: 42 } });
  });

  test("runSync goes on through status-sync when the first wait is over", async () => {
    const waiting = client().runSync({ input: { mock_return: "late", mock_delay_ms: 2500 } }, 10_000);
    expect(await waiting).toMatchObject({ status: "COMPLETED", output: "late" });
    const { id } = await client().run({ input: { mock_return: "later", mock_delay_ms: 1500 } });
    expect(await client().statusSync(id, 5000)).toMatchObject({ status: "COMPLETED", output: "later" });
  });

  test("run and status", async () => {
    const { id, status } = await client().run({ input: { mock_return: [1, 2] } });
    expect(status).toBe("IN_QUEUE");
    await client().statusSync(id, 5000);
    expect(await client().status(id)).toMatchObject({ id, status: "COMPLETED", output: [1, 2] });
  });

  test("stream yields every chunk", async () => {
    const { id } = await client().run({ input: { mock_yield: ["a", { b: 1 }, "c"] } });
    const outputs: unknown[] = [];
    for await (const chunk of client().stream(id)) outputs.push(chunk.output);
    expect(outputs).toEqual(["a", { b: 1 }, "c"]);
  });

  test("stream ends with a failure after the chunks before it", async () => {
    const { id } = await client().run({ input: { mock_yield: ["a", "b"], mock_error: "out of ink" } });
    const outputs: unknown[] = [];
    for await (const chunk of client().stream(id)) outputs.push(chunk.output);
    expect(outputs).toEqual(["a", "b"]);
  });

  test("cancel ends a running job", async () => {
    const { id } = await client().run({ input: { mock_delay_ms: 60_000, mock_progress: "begun" } });
    expect(await client().cancel(id)).toMatchObject({ id, status: "CANCELLED" });
    expect(await client().status(id)).toMatchObject({ status: "CANCELLED" });
  });

  test("a handler's error is FAILED with a string", async () => {
    const result = await client().runSync({ input: { mock_error: "out of paper" } });
    expect(result).toMatchObject({ status: "FAILED", error: expect.stringContaining("out of paper") });
  });

  test("health and purge", async () => {
    expect(await client().health()).toMatchObject({ jobs: { inQueue: 0 }, workers: { idle: expect.any(Number) } });
    expect(await client().purgeQueue()).toEqual({ removed: 0, status: "completed" });
  });
});

describe("a client that reads as the public Python package does", () => {
  comparedWithMatrix(import.meta.url, { client: "a stand-in for runpod-python", version: "–" });
  /** This client sends `Bearer`, no User-Agent of its own and any media type. It reads until the state is final and the stream is empty. */
  const program = fileURLToPath(new URL("./fixtures/python-client.py", import.meta.url));
  const streamed = async (input: object) => {
    const { id } = (await server.call("POST", `/v2/${endpointId}/run`, { key, body: { input } })).json;
    const { stdout } = await promisify(execFile)("python3", [
      program,
      `${server.url}/v2/${endpointId}/stream/${id}`,
      key,
    ]);
    return JSON.parse(stdout);
  };

  test("stream yields every chunk", async () => {
    expect(await streamed({ mock_yield: ["a", { b: 1 }, "c"] })).toEqual({
      outputs: ["a", { b: 1 }, "c"],
      status: "COMPLETED",
    });
  });

  test("a stream that fails ends, with the error beside the state", async () => {
    const { outputs, status, error } = await streamed({ mock_yield: ["a"], mock_error: "out of ink" });
    expect([outputs, status]).toEqual([["a"], "FAILED"]);
    expect(error).toContain("out of ink");
  });
});

/** The package's own checkout, or a folder that it is installed in. Most machines have neither, and PyPI is not asked. */
const { MILLRACE_TEST_RUNPOD_PYTHON: installed } = process.env;

describe.runIf(installed)("runpod-python, in the folder MILLRACE_TEST_RUNPOD_PYTHON", () => {
  const program = fileURLToPath(new URL("./fixtures/python-package.py", import.meta.url));
  comparedWithMatrix(import.meta.url, { client: "runpod-python", version: PYTHON_PACKAGE });
  const python = async (name: string) => {
    const { PATH = "" } = process.env;
    const env = {
      ...{ PATH, PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: "1", HOME: data.path },
      ...{ RUNPOD_API_KEY: key, RUNPOD_API_BASE_URL: server.url, RUNPOD_ENDPOINT_BASE_URL: `${server.url}/v2` },
      ENDPOINT: endpointId,
    };
    return JSON.parse((await promisify(execFile)("python3", [program, name], { env })).stdout.split("\n").at(-2)!);
  };

  test("run_sync returns the output", async () => {
    expect(await python("run_sync")).toEqual({ answer: 42 });
  });

  test("run, status and output", async () => {
    expect(await python("run")).toEqual({ status: "COMPLETED", output: [1, 2] });
  });

  test("stream yields every chunk", async () => {
    expect(await python("stream")).toEqual(["a", { b: 1 }]);
  });

  test("cancel ends a job", async () => {
    expect(await python("cancel")).toBe("CANCELLED");
  });

  test("health and purge", async () => {
    expect(await python("health")).toMatchObject({ workers: expect.any(Object) });
    expect(await python("purge_queue")).toMatchObject({ status: "completed" });
  });

  test("the user and the GPU types", async () => {
    expect(await python("get_user")).toMatchObject({ id: expect.any(String) });
    expect(await python("get_gpus")).toContain("NVIDIA A40");
  });

  test("a template, an endpoint of it, and registry credentials", async () => {
    expect(await python("endpoints")).toEqual(["from-python"]);
    expect(await python("registries")).toBe("from-python");
  });
});

describe("openai", () => {
  comparedWithMatrix(import.meta.url, { client: "openai", version: versionOf("openai") });
  const client = () => new OpenAI({ apiKey: key, baseURL: `${server.url}/v2/${endpointId}/openai/v1`, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "hello" }];

  test("a chat completion", async () => {
    const completion = await client().chat.completions.create({ model: "mock", messages });
    expect(completion.choices[0]?.message.content).toBe("Hello from the mill");
  });

  test("a streamed chat completion", async () => {
    const stream = await client().chat.completions.create({ model: "mock", messages, stream: true });
    let text = "";
    for await (const part of stream) text += part.choices[0]?.delta.content ?? "";
    expect(text).toBe("Hello from the mill");
  });
});

describe("@runpod/ai-sdk-provider", () => {
  const version = versionOf("@runpod/ai-sdk-provider");
  comparedWithMatrix(import.meta.url, { client: "@runpod/ai-sdk-provider", version });
  const model = () => createRunpod({ apiKey: key, baseURL: `${server.url}/v2/${endpointId}/openai/v1` })("mock");

  test("generated text", async () => {
    const { text } = await generateText({ model: model() as never, prompt: "hello" });
    expect(text).toBe("Hello from the mill");
  });

  test("streamed text", async () => {
    const { textStream } = streamText({ model: model() as never, prompt: "hello" });
    let text = "";
    for await (const part of textStream) text += part;
    expect(text).toBe("Hello from the mill");
  });
});

describe("@ai-sdk/openai-compatible", () => {
  const version = versionOf("@ai-sdk/openai-compatible");
  comparedWithMatrix(import.meta.url, { client: "@ai-sdk/openai-compatible", version });
  const baseURL = () => `${server.url}/v2/${endpointId}/openai/v1`;
  const model = () => createOpenAICompatible({ name: "millrace", baseURL: baseURL(), apiKey: key })("mock");

  test("generated text", async () => {
    const { text } = await generateText({ model: model(), prompt: "hello" });
    expect(text).toBe("Hello from the mill");
  });

  test("streamed text", async () => {
    const { textStream } = streamText({ model: model(), prompt: "hello" });
    let text = "";
    for await (const part of textStream) text += part;
    expect(text).toBe("Hello from the mill");
  });
});
