/** Millrace as tools: what an agent finds, what its calls do, and what it reads when one is refused. */
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { shellFor, written } from "../../platform/tests/cli-shell.ts";
import { setup, type World } from "../../platform/tests/world.ts";
import { mcpCommand } from "./mcp.ts";

/** After this silence a log has no more kept lines. No other timer has this length. */
const SILENCE_MS = 1001;

interface Answer {
  id: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  result: any;
}

/** An agent that has started the command: each question is one line, and so is its answer. */
async function agentOf(world: World, ...words: string[]) {
  const { shell, stdin } = shellFor({ MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key });
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const ended = mcpCommand({ ...shell, clock: world.clock })
    .exitOverride()
    .parseAsync(["node", "millrace", ...words]);
  let id = 0;
  const ask = async (method: string, params: object = {}) => {
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params })}\n`);
    const answer = JSON.parse((await lines.next()).value as string) as Answer;
    expect(answer.id).toBe(id);
    return answer.result;
  };
  const clientInfo = { name: "agent", version: "1" };
  const hello = await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  const call = async (name: string, given: object = {}) => {
    const { content, isError } = await ask("tools/call", { name, arguments: given });
    return { text: content[0].text as string, isError: isError === true };
  };
  return {
    hello,
    call,
    list: async () => (await ask("tools/list")).tools as { name: string; annotations: { readOnlyHint: boolean } }[],
    async [Symbol.asyncDispose]() {
      stdin.end();
      await ended;
    },
  };
}

test("an agent lists the tools, which are the operations of the API and three of their own", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  expect(agent.hello.serverInfo.name).toBe("millrace");
  expect(agent.hello.instructions).toContain("explain_reason");
  const names = (await agent.list()).map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["run_job", "read_logs", "explain_reason", "createPod", "listEndpoints"]),
  );
  expect(names).toEqual(expect.arrayContaining(["runJob", "cancelJob", "listGpuTypes"]));
  for (const stream of ["getPodLogs", "signInByPassword", "createSecret"]) expect(names).not.toContain(stream);
  expect(new Set(names).size).toBe(names.length);
});

test("with --only and --read-only there are fewer", async () => {
  await using world = await setup();
  await using agent = await agentOf(world, "--only", "templates", "account", "--read-only");
  const tools = await agent.list();
  expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["listTemplates", "listSecrets", "read_logs"]));
  expect(tools.map(({ name }) => name)).not.toContain("run_job");
  expect((await agent.call("createTemplate", { body: {} })).text).toContain("no tool of this name");
});

test("a call does what the operation does, and shows its answer", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  const made = await agent.call("createTemplate", { body: { name: "from an agent", image: "busybox" } });
  const { id } = JSON.parse(made.text);
  expect(JSON.parse((await agent.call("getTemplate", { id })).text)).toMatchObject({ id, name: "from an agent" });
  const listed = JSON.parse((await agent.call("listTemplates", { query: { limit: 10 } })).text);
  expect(JSON.stringify(listed)).toContain(id);
  expect(await agent.call("deleteTemplate", { id })).toEqual({ text: expect.stringContaining("done"), isError: false });
});

test("an agent deploys a listing of the hub, shares it, and calls it by its name", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  const said = async (name: string, given?: object) => JSON.parse((await agent.call(name, given)).text);
  expect((await said("listHubListings", { query: { search: "echo" } })).listings).toMatchObject([
    { id: "millrace.echo" },
  ]);
  const { id: endpointId } = await said("deployHubListing", {
    ...{ id: "millrace.echo", body: { name: "mine", test: false } },
  });
  expect(await said("getHubDeployment", { id: endpointId })).toMatchObject({ listingId: "millrace.echo" });
  await said("createPublicEndpoint", { body: { name: "an-echo", endpointId, everyone: true } });
  expect((await said("listPublicEndpoints")).publicEndpoints).toMatchObject([{ name: "an-echo", own: true }]);
  expect(await said("runJob", { endpoint_id: "an-echo", body: { input: {} } })).toMatchObject({ status: "IN_QUEUE" });
});

test("a refusal is an answer with the reason, its code and what to do", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  const wrong = await agent.call("createTemplate", { body: { nmae: "x" } });
  expect(wrong.isError).toBe(true);
  expect(wrong.text).toContain("nmae");
  const missing = await agent.call("getTemplate", { id: "nothing" });
  expect(missing).toMatchObject({ isError: true, text: expect.stringMatching(/Reason code: [\w-]+/) });
  // A missing id must not become the path of the list.
  expect(await agent.call("deleteTemplate")).toMatchObject({
    isError: true,
    text: expect.stringContaining("'id' is missing"),
  });
});

test("a reason code is explained", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  const { text } = await agent.call("explain_reason", { code: "crash-loop" });
  expect(JSON.parse(text)).toEqual({ code: "crash-loop", means: expect.any(String), remedy: expect.any(String) });
  expect(JSON.parse((await agent.call("explain_reason")).text).Refusals).toContain("not-found");
  expect(await agent.call("explain_reason", { code: "constructor" })).toMatchObject({ isError: true });
});

test("run_job returns a job that still waits with its reason", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  const asked = agent.call("run_job", { endpointId: id, input: { n: 1 }, waitSeconds: 7 });
  await world.clock.armed(7000);
  await world.clock.advance(7000);
  expect(JSON.parse((await asked).text)).toMatchObject({ status: "IN_QUEUE", waitReason: expect.any(String) });
  expect((await agent.call("run_job", { endpointId: id, input: {}, waitSeconds: 1.5 })).text).toContain("whole number");
  const read = agent.call("read_logs", { endpointId: id });
  await world.clock.armed(SILENCE_MS);
  await world.clock.advance(SILENCE_MS);
  expect((await read).text).toBe("Nothing was written yet.");
});

test("ids that lead elsewhere, and inputs of another form, are refused before anything is sent", async () => {
  await using world = await setup();
  await using agent = await agentOf(world);
  await world.call("POST", "/v2/templates", { body: { name: "kept", image: "busybox" } });
  const refused = async (name: string, given: object) => {
    const { isError, text } = await agent.call(name, given);
    expect([name, given, isError]).toEqual([name, given, true]);
    return text;
  };
  for (const id of [".", "..", "", "x".repeat(513), 5, null, ["a"], { toString: "x" }])
    await refused("deleteTemplate", { id });
  // They would be the paths of a list, of another resource, and of nothing.
  for (const id of ["../pods", "..%2Fpods", "%2e%2e", "a/../..", "a?x=1", "a#b", "\u0000", "\r\nHost: b"])
    expect(await refused("getTemplate", { id })).toMatch(/Reason code: (not-found|invalid|unknown-path)|not found/i);
  for (const query of ["limit=1", ["limit"], { limit: { $gt: 0 } }, { cursor: [{}] }])
    await refused("listTemplates", { query });
  for (const body of [null, 5, "text", [], { __proto__: null, name: {} }]) await refused("createTemplate", { body });
  await refused("read_logs", { podId: ".." });
  await refused("toString", {});
  await refused("__proto__", {});
  expect(JSON.parse((await agent.call("listTemplates")).text).templates).toHaveLength(1);
});

test("an agent of another account finds nothing of the first", async () => {
  await using world = await setup();
  const { id } = (await world.call("POST", "/v2/templates", { body: { name: "mine", image: "busybox" } })).json;
  await using stranger = await agentOf({ ...world, key: await world.strangersKey() });
  expect(JSON.parse((await stranger.call("listTemplates")).text).templates).toEqual([]);
  for (const tool of ["getTemplate", "deleteTemplate"])
    expect(await stranger.call(tool, { id })).toMatchObject({
      isError: true,
      text: expect.stringContaining("not found"),
    });
  expect((await world.call("GET", `/v2/templates/${id}`)).status).toBe(200);
});

/** Starts the command without the first greeting, and sends lines as they are. */
function rawAgent(world: World) {
  const { shell, stdin, out } = shellFor({ MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key });
  const ended = mcpCommand(shell)
    .exitOverride()
    .parseAsync(["node", "millrace"])
    .then(
      () => undefined,
      (error: Error) => error,
    );
  return { stdin, out, ended };
}

test("lines that are no JSON-RPC are passed over, and the next question is answered", async () => {
  await using world = await setup();
  const { stdin, out, ended } = rawAgent(world);
  const odd = [
    "{",
    "null",
    "[]",
    "5",
    '"x"',
    '{"jsonrpc":"1.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":{},"method":5}',
  ];
  for (const line of [...odd, "[".repeat(100_000), '{"__proto__":{"id":1}}', "\u0000\uffff"]) stdin.write(`${line}\n`);
  const clientInfo = { name: "a", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params })}\n`);
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 8, method: "no/such", params: {} })}\n`);
  await written(out, '"id":8');
  stdin.end();
  expect(await ended).toBeUndefined();
  const answers = out()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers.find(({ id }) => id === 7).result.serverInfo.name).toBe("millrace");
  expect(answers.find(({ id }) => id === 8).error.code).toBe(-32601);
});

test("a message without an end is cut off, and the program ends with the reason", async () => {
  await using world = await setup();
  const { stdin, ended } = rawAgent(world);
  const block = "x".repeat(1 << 20);
  for (let sent = 0; sent < 12; sent++) stdin.write(block);
  expect((await ended)?.message).toContain("the agent was hung up on");
  stdin.destroy();
});
