/** Tickets for terminals: who gets one, for what, and how often it works. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setupPodNodes, sidesOf } from "../../../tests/pod-nodes.ts";
import { setupPods } from "../../../tests/pod-world.ts";
import {
  played,
  podTerminal,
  reachedAt,
  setupTerminal,
  TerminalClient,
  ticketFor,
} from "../../../tests/terminal-client.ts";
import { SHELL } from "../../resources/shells.ts";
import { TICKET_MS } from "../../resources/terminals/tickets.ts";

describe("a ticket", () => {
  test("is a WebSocket address of this server that says until when it is good", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const { status, json } = await world.call("POST", podTerminal(id), { body: {} });
    expect([status, Object.keys(json)]).toEqual([201, ["url", "ticket", "expiresAt"]]);
    expect(json.url).toBe(`wss://millrace.test/v2/terminals/${json.ticket}`);
    expect(Date.parse(json.expiresAt)).toBe(world.clock.now() + TICKET_MS);
  });

  test("is given without a body too, for a shell in a terminal of the usual size", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const { status, json } = await world.call("POST", podTerminal(id));
    expect([status, Object.keys(json)]).toEqual([201, ["url", "ticket", "expiresAt"]]);
  });

  test("is kept as a digest, and nothing of it is logged", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const { json } = await world.call("POST", podTerminal(id), { body: {} });
    const kept = JSON.stringify(await world.store.list({ kind: "terminal-ticket", limit: 10 }));
    expect(kept).toContain(id);
    expect(kept).not.toContain(json.ticket);
    const program = played(world.running()[0]!);
    const client = await new TerminalClient(reachedAt(world, json.url)).opened();
    (await program).end({ code: 0 });
    await client.closed;
    expect(world.logged.join("\n")).not.toContain(json.ticket);
    expect(await world.store.count({ kind: "terminal-ticket" })).toBe(0);
  });

  test("works once", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const url = await ticketFor(world, id);
    const program = played(world.running()[0]!);
    const client = await new TerminalClient(url).opened();
    const { status, detail } = await new TerminalClient(url).refusal();
    expect([status, detail]).toEqual([401, expect.stringContaining("was used before")]);
    (await program).end({ code: 0 });
    expect(await client.closed).toBe(1000);
  });

  test("works once also when it is shown to two nodes at once, many times", async () => {
    await using nodes = await setupPodNodes();
    const { id } = await nodes.first.create();
    await nodes.first.pass(2);
    const [here] = sidesOf(nodes, id);
    here.running()[0]!.onExec = () => {};
    const url = await ticketFor(nodes.first, id);
    const other = url.replace(new URL(nodes.first.url).host, new URL(nodes.second.url).host);
    const clients = Array.from({ length: 40 }, (_, i) => new TerminalClient(i % 2 ? url : other));
    const outcomes = await Promise.all(
      clients.map((client) => Promise.race([client.opened().then(() => "in"), client.refusal().then(() => "out")])),
    );
    expect(outcomes.filter((outcome) => outcome === "in")).toHaveLength(1);
    for (const { socket } of clients) socket.terminate();
  });

  test("works for seconds", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const [late, soon] = [await ticketFor(world, id), await ticketFor(world, id)];
    await world.clock.advance(TICKET_MS - 1);
    world.running()[0]!.onExec = (program) => program.end({ code: 0 });
    await new TerminalClient(soon).opened();
    await world.clock.advance(1);
    expect((await new TerminalClient(late).refusal()).status).toBe(401);
  });

  test("that nobody used is swept, and there is a bound to how many there are", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    for (let i = 0; i < 105; i++) await ticketFor(world, id);
    expect(await world.store.count({ kind: "terminal-ticket" })).toBe(100);
    await world.pass(91);
    expect(await world.store.count({ kind: "terminal-ticket" })).toBe(0);
  });

  test("ends with the key that it was asked for with", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const made = (await world.call("POST", "/v2/account/api-keys", { body: { scopes: ["pods:exec"] } })).json;
    const url = await ticketFor(world, id, { key: made.key });
    await world.call("DELETE", `/v2/account/api-keys/${made.id}`);
    expect((await new TerminalClient(url).refusal()).status).toBe(401);
  });

  test.each(["", "x", "x".repeat(43), "x".repeat(4000), "%00", `${"x".repeat(43)}?a=1`])(
    "is not guessed: %j is refused like one that is over",
    async (guess) => {
      await using world = await setupPods();
      const url = `${world.url.replace("http", "ws")}/v2/terminals/${guess}`;
      expect((await new TerminalClient(url).refusal()).status).toBe(401);
    },
  );
});

describe("who may have one", () => {
  test("whoever holds 'pods:exec', and not who may write Pods, or read all", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    for (const [scopes, status] of [
      [["pods:exec"], 201],
      [["all"], 201],
      [["pods:write", "serverless:exec"], 403],
      [["read-only"], 403],
    ] as const) {
      const key = await world.newKey({ scopes: [...scopes] });
      expect([scopes, (await world.call("POST", podTerminal(id), { key, body: {} })).status]).toEqual([scopes, status]);
    }
  });

  test("not another account: for it there is no such Pod", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const key = await world.strangersKey();
    expect((await world.call("POST", podTerminal(id), { key, body: {} })).json.detail).toBe("pod not found");
  });

  test("not the Pod itself", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const { key } = await world.services.podKeys.issue(world.owner.account, id);
    expect((await world.call("POST", podTerminal(id), { key, body: {} })).status).toBe(403);
  });

  test("of workers, a key narrowed to their endpoint, and to no other", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
    await world.pass(2);
    const [worker] = world.running();
    const path = `/v2/serverless/${world.endpoint}/workers/${worker!.id}/terminal`;
    const program = played(worker!.instance);
    const key = await world.newKey({ scopes: ["serverless:exec"], endpoints: [world.endpoint] });
    const { json } = await world.call("POST", path, { key, body: {} });
    const client = await new TerminalClient(reachedAt(world, json.url)).opened();
    (await program).end({ code: 0 });
    expect(await client.told("exit")).toMatchObject({ code: 0 });
    const other = await world.newKey({ scopes: ["serverless:exec"], endpoints: ["another"] });
    expect((await world.call("POST", path, { key: other, body: {} })).status).toBe(403);
    const writes = await world.newKey({ scopes: ["serverless:write", "pods:exec"] });
    expect((await world.call("POST", path, { key: writes, body: {} })).status).toBe(403);
    const unknown = path.replace(worker!.id, "nosuch");
    expect((await world.call("POST", unknown, { body: {} })).json.detail).toBe("worker not found");
  });
});

describe("what is asked for", () => {
  test("is a shell of a usual size, unless it says otherwise", async () => {
    await using usual = await setupTerminal();
    expect(usual.program.spec).toEqual({
      cmd: SHELL,
      env: { TERM: "xterm-256color" },
      terminal: { columns: 80, rows: 24 },
    });
    usual.program.end({ code: 0 });
    await using own = await setupTerminal({ command: ["top", "-b"], cols: 200, rows: 50, term: "vt100" });
    expect(own.program.spec).toEqual({
      cmd: ["top", "-b"],
      env: { TERM: "vt100" },
      terminal: { columns: 200, rows: 50 },
    });
    own.program.end({ code: 0 });
  });

  test.each([
    [422, { command: [] }],
    [422, { command: "ls" }],
    [422, { command: ["a\u0000b"] }],
    [422, { command: Array(1001).fill("x") }],
    [400, { command: [""] }],
    [400, { command: ["x".repeat(70_000), "x".repeat(70_000)] }],
    [422, { cols: 0 }],
    [422, { rows: 1001 }],
    [422, { cols: 1.5 }],
    [422, { term: "a b" }],
    [422, { term: "x".repeat(65) }],
    [422, { tty: "yes" }],
    [422, { env: { A: "1" } }],
    [413, { command: ["x".repeat(300_000)] }],
  ])("is refused with %i: %j", async (status, body) => {
    await using world = await setupPods();
    const { id } = await world.create();
    expect((await world.call("POST", podTerminal(id), { body })).status).toBe(status);
  });

  test("has to run: a Pod that does not is 409, with the reason", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const url = await ticketFor(world, id);
    await world.act(id, "stop");
    const { status, json } = await world.call("POST", podTerminal(id), { body: {} });
    expect([status, json.detail]).toEqual([409, `Pod ${id} is EXITED: stopped by its owner.`]);
    const late = await new TerminalClient(url).opened();
    expect(await late.told("error")).toEqual({ type: "error", message: `Pod ${id} is EXITED: stopped by its owner.` });
    expect(await late.closed).toBe(1011);
  });
});
