/** Samples of code, and the bodies that Try it begins with. */
import { expect, test } from "vitest";
import { pythonLiteral, samplesOf } from "./samples.ts";
import { chatText, faultOf, firstBody, type RunMode } from "./try-modes.ts";

const call = (mode: RunMode, body: unknown = { input: { prompt: "it's", n: 1 } }) => ({
  mode,
  origin: "http://127.0.0.1:7420",
  endpointId: "ep1",
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const textOf = (samples: ReturnType<typeof samplesOf>, language: string) =>
  samples.find((sample) => sample.language === language)?.text ?? "";

test("curl has the address, the key and the body, quoted for a shell", () => {
  const text = textOf(samplesOf(call("run")), "curl");
  expect(text).toContain("curl http://127.0.0.1:7420/v2/ep1/run");
  expect(text).toContain('-H "Authorization: Bearer $MILLRACE_API_KEY"');
  expect(text).toContain(`-d '{"input":{"prompt":"it'\\''s","n":1}}'`);
});

test("the public SDKs get the base URL of this server, and wait where the mode does", () => {
  const waiting = samplesOf(call("wait"));
  expect(textOf(waiting, "curl")).toContain("/v2/ep1/runsync");
  expect(textOf(waiting, "Python")).toContain('runpod.endpoint_url_base = "http://127.0.0.1:7420/v2"');
  expect(textOf(waiting, "Python")).toContain("endpoint.run_sync(request");
  expect(textOf(waiting, "TypeScript")).toContain('baseUrl: "http://127.0.0.1:7420/v2"');
  expect(textOf(samplesOf(call("run")), "TypeScript")).toContain("endpoint.stream(id)");
});

test("OpenAI's clients get the base URL with the endpoint in it, and stream where the body says so", () => {
  const samples = samplesOf(call("chat", { model: "m", messages: [], stream: true }));
  expect(samples.map(({ language }) => language)).toEqual(["curl", "OpenAI (Python)", "OpenAI (TypeScript)"]);
  expect(textOf(samples, "curl")).toContain("curl -N http://127.0.0.1:7420/v2/ep1/openai/v1/chat/completions");
  expect(textOf(samples, "OpenAI (Python)")).toContain('base_url="http://127.0.0.1:7420/v2/ep1/openai/v1"');
  expect(textOf(samples, "OpenAI (Python)")).toContain('"stream": True');
  expect(textOf(samples, "OpenAI (TypeScript)")).toContain("for await (const part of answer)");
});

test("an HTTP request has its method, path and body, and GET has none", () => {
  const post = samplesOf({ ...call("http", { a: null }), http: { method: "POST", path: "/generate?x=1&y=2" } });
  expect(textOf(post, "curl")).toContain("curl -X POST 'http://127.0.0.1:7420/v2/ep1/generate?x=1&y=2'");
  expect(textOf(post, "Python")).toContain('json={"a": None}');
  const get = samplesOf({ ...call("http", ""), http: { method: "GET", path: "/" } });
  expect(textOf(get, "curl")).not.toContain("-d");
  expect(textOf(get, "TypeScript")).not.toContain("body");
});

test("values of JSON become values of Python", () => {
  expect(pythonLiteral({ a: [true, false, null, 1.5, "x"], b: {}, c: [] })).toBe(
    '{"a": [True, False, None, 1.5, "x"], "b": {}, "c": []}',
  );
  expect(pythonLiteral({ long: "x".repeat(60) })).toBe(`{\n    "long": "${"x".repeat(60)}",\n}`);
});

test("the last job's input is the first body, unless there is none or it is not of this mode", () => {
  expect(JSON.parse(firstBody("run", { input: { n: 7 } }))).toEqual({ input: { n: 7 } });
  expect(JSON.parse(firstBody("run", undefined))).toEqual({ input: { prompt: "Hello" } });
  const chat = { input: { openai_route: "/v1/chat/completions", openai_input: { model: "m" } } };
  expect(JSON.parse(firstBody("chat", chat))).toEqual({ model: "m" });
  expect(JSON.parse(firstBody("run", chat))).toEqual({ input: { prompt: "Hello" } });
  expect(JSON.parse(firstBody("run", { input: { text: "x".repeat(60_000) } }))).toEqual({ input: { prompt: "Hello" } });
});

test("a body that would be refused says why before it is sent", () => {
  expect(faultOf("run", "{")).toMatch(/^The body is not JSON: /);
  expect(faultOf("run", "[]")).toBe("The body must be a JSON object.");
  expect(faultOf("run", '{"prompt":"x"}')).toBe('The body needs an "input" that is a JSON object.');
  expect(faultOf("run", '{"input":{}}')).toBeUndefined();
  expect(faultOf("chat", '{"model":"m"}')).toBeUndefined();
  expect(faultOf("http", "")).toBeUndefined();
});

test("a chat's text is read from its stream and from its whole answer", () => {
  const line = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  expect(chatText(`${line("Hel")}${line("lo")}data: [DONE]\n\n`)).toBe("Hello");
  expect(chatText(`${line("Hel")}data: {"choi`)).toBe("Hel");
  expect(chatText('{"choices":[{"message":{"content":"Hello"}}]}')).toBe("Hello");
});
