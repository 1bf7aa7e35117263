/** Which pages may open a terminal with a ticket: those of this server and those that the operator named, and no others. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setupPods } from "../../../tests/pod-world.ts";
import { openTerminal, played, podTerminal, TerminalClient, ticketFor } from "../../../tests/terminal-client.ts";

/** What a browser sends with a WebSocket of a page, beside what programs send. */
const page = (origin: string) => ({ origin, "sec-fetch-site": "cross-site", "user-agent": "Mozilla/5.0" });

describe("a page", () => {
  test.each([
    ["of the host that it connects to", (url: string) => url.replace(/^ws(.*)\/v2.*/, "http$1")],
    ["of the same host behind a proxy that speaks TLS", (url: string) => url.replace(/^ws(.*)\/v2.*/, "https$1")],
    ["of the public URL", () => "https://millrace.test"],
  ])("%s comes in, types and resizes", async (_whose, originOf) => {
    await using world = await setupPods();
    const { id } = await world.create();
    const url = await ticketFor(world, id);
    const program = played(world.running()[0]!);
    const client = await new TerminalClient(url, page(originOf(url))).opened();
    const execution = await program;
    client.say({ type: "resize", cols: 132, rows: 50 });
    client.type("ls\n");
    await execution.write("file");
    await client.heard("file");
    execution.end({ code: 0 });
    expect(await client.closed).toBe(1000);
  });

  test.each([
    "https://evil.test",
    "http://127.0.0.1:1",
    "http://127.0.0.1",
    "https://millrace.test.evil.test",
    "https://pod-8080.millrace.test",
    "http://millrace.test",
    "null",
    "file://",
    "",
    "not an origin",
  ])("of %j is refused, and its ticket stays good for who should have it", async (origin) => {
    await using world = await setupPods();
    const { id } = await world.create();
    const url = await ticketFor(world, id);
    const { status, detail } = await new TerminalClient(url, page(origin)).refusal();
    expect([status, detail]).toEqual([403, expect.stringContaining("MILLRACE_CORS_ORIGINS")]);
    const program = played(world.running()[0]!);
    const client = await new TerminalClient(url).opened();
    (await program).end({ code: 0 });
    expect(await client.closed).toBe(1000);
  });

  test("of an origin that the operator named comes in", async () => {
    await using world = await setupPods({ corsOrigins: "https://app.example.com" });
    const { id } = await world.create();
    world.running()[0]!.onExec = () => {};
    const client = await new TerminalClient(await ticketFor(world, id), page("https://app.example.com")).opened();
    client.socket.terminate();
    const { status } = await new TerminalClient(await ticketFor(world, id), page("https://evil.test")).refusal();
    expect(status).toBe(403);
  });

  test("comes into a worker by the same rules", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
    await world.pass(2);
    const [worker] = world.running();
    const path = `/v2/serverless/${world.endpoint}/workers/${worker!.id}/terminal`;
    const ticket = async () =>
      `${world.url.replace(/^http/, "ws")}/v2/terminals/${(await world.call("POST", path)).json.ticket}`;
    expect((await new TerminalClient(await ticket(), page("https://evil.test")).refusal()).status).toBe(403);
    const program = played(worker!.instance);
    const client = await new TerminalClient(await ticket(), page(world.url)).opened();
    (await program).end({ code: 3 });
    expect(await client.told("exit")).toMatchObject({ code: 3 });
  });
});

test("a terminal is not gone back to: a new ticket begins a new program", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const first = played(world.running()[0]!);
  const client = await openTerminal(world, podTerminal(id));
  const before = await first;
  client.socket.terminate();
  await before.exit;
  const second = played(world.running()[0]!);
  const again = await openTerminal(world, podTerminal(id));
  expect(await second).not.toBe(before);
  again.socket.terminate();
});
