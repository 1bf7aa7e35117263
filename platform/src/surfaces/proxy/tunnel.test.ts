/** WebSockets through the proxy, with clients and workers that use another library. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type BalancedWorld, setupBalanced } from "../../../tests/balanced-world.ts";
import { idle } from "../../../tests/idle.ts";
import { turn } from "../../kernel/clock.ts";

const WAIT_FOR_ANY_MS = 120_000;

/** A worker that echoes what it hears, and says hello first if asked to. */
function echoing(world: BalancedWorld, id: string, options: Parameters<BalancedWorld["worker"]>[2] = {}) {
  const worker = world.worker(id, (_request, response) => void response.end("plain"), options);
  const sockets = new WebSocketServer({ noServer: true });
  const asked: string[] = [];
  worker.server.on("upgrade", (request, socket, head) => {
    asked.push(`${request.url} ${JSON.stringify(request.headers)}`);
    if (request.url === "/forbidden") {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nSet-Cookie: a=1\r\nConnection: close\r\n\r\nno");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      if (request.url === "/hello") client.send("hello");
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary }));
    });
  });
  return { ...worker, worker, sockets, asked };
}

function open(world: BalancedWorld, path: string, { key = world.key, headers = {} as Record<string, string> } = {}) {
  const url = `${world.url.replace("http", "ws")}/v2/${world.endpoint}${path}`;
  return new WebSocket(url, { headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), ...headers } });
}

const message = async (client: WebSocket) => String((await once(client, "message"))[0]);

/** Returns how the server refused a WebSocket. */
async function refusal(client: WebSocket): Promise<{ status: number; text: string; headers: NodeJS.Dict<unknown> }> {
  client.on("error", () => {});
  const [, response] = await once(client, "unexpected-response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, text, headers: response.headers };
}

describe.each([["sockets"], ["streams"]] as const)("over %s", (over) => {
  test("text and bytes go both ways", async () => {
    await using world = await setupBalanced();
    echoing(world, "w1", { over });
    const client = open(world, "/echo?x=1");
    await once(client, "open");
    client.send("hello");
    expect(await message(client)).toBe("hello");
    const bytes = Buffer.alloc(200_000, 7);
    client.send(bytes);
    expect(((await once(client, "message"))[0] as Buffer).equals(bytes)).toBe(true);
    client.close(1000, "done");
    expect((await once(client, "close"))[0]).toBe(1000);
  });

  test("what the worker says at once is not lost", async () => {
    await using world = await setupBalanced();
    echoing(world, "w1", { over });
    const client = open(world, "/hello");
    expect(await message(client)).toBe("hello");
    client.terminate();
  });
});

test("one connection is not taken for a leak of listeners, even where the client sends ahead of the worker's consent", async () => {
  await using world = await setupBalanced();
  echoing(world, "w1");
  const warnings: Error[] = [];
  const hear = (warning: Error) => void warnings.push(warning);
  process.on("warning", hear);
  const client = connect(Number(new URL(world.url).port), "127.0.0.1");
  const key = `Authorization: ${world.key}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13`;
  client.write(
    `GET /v2/${world.endpoint}/hello HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`,
  );
  client.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]));
  expect(String((await once(client, "data"))[0])).toContain("101 Switching Protocols");
  client.destroy();
  await idle();
  process.off("warning", hear);
  expect(warnings).toEqual([]);
});

test("from zero workers, the connection waits for the worker that it calls for", async () => {
  await using world = await setupBalanced();
  const client = open(world, "/echo");
  await world.clock.armed(WAIT_FOR_ANY_MS);
  echoing(world, "w1");
  await once(client, "open");
  client.send("at last");
  expect(await message(client)).toBe("at last");
  client.terminate();
});

test("the answer names the worker, which sees the path and not the key", async () => {
  await using world = await setupBalanced();
  const { asked } = echoing(world, "w1");
  const client = open(world, "/echo?x=1", { headers: { cookie: "__Host-millrace=s; a=1" } });
  const [[response]] = await Promise.all([once(client, "upgrade"), once(client, "open")]);
  expect(response.headers).toMatchObject({ "x-runpod-worker-id": "w1", "x-millrace-worker-id": "w1" });
  expect(asked[0]).toMatch(/^\/echo\?x=1 /);
  expect(asked[0]).toContain('"cookie":"a=1"');
  expect(asked[0]).toContain(`"x-forwarded-prefix":"/v2/${world.endpoint}"`);
  expect(asked[0]).not.toContain(world.key);
  client.terminate();
});

test("an open one keeps its worker busy until it ends", async () => {
  await using world = await setupBalanced();
  const { sockets } = echoing(world, "w1");
  const client = open(world, "/echo");
  await once(client, "open");
  expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(1);
  const [there] = sockets.clients;
  const closed = once(there!, "close");
  client.terminate();
  await closed;
  await idle();
  expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
});

test("the processing limit does not end one", async () => {
  await using world = await setupBalanced();
  echoing(world, "w1");
  const client = open(world, "/echo");
  await once(client, "open");
  await world.clock.advance(600_000);
  client.send("still here");
  expect(await message(client)).toBe("still here");
  client.terminate();
});

describe("the guards are those of every request", () => {
  test("401 without a key", async () => {
    await using world = await setupBalanced();
    const { dialled } = echoing(world, "w1");
    const { status, text } = await refusal(open(world, "/echo", { key: "" }));
    expect([status, JSON.parse(text).error, dialled]).toEqual([
      401,
      "unauthorized: the authorization header is missing",
      0,
    ]);
  });

  test("404 for another account", async () => {
    await using world = await setupBalanced();
    echoing(world, "w1");
    const { status, text } = await refusal(open(world, "/echo", { key: await world.strangersKey() }));
    expect([status, JSON.parse(text).error]).toEqual([404, "endpoint not found"]);
  });

  test("403 without the scope", async () => {
    await using world = await setupBalanced();
    echoing(world, "w1");
    const key = await world.newKey({ scopes: ["read-only"] });
    expect((await refusal(open(world, "/echo", { key }))).status).toBe(403);
  });

  test("400 for an endpoint with a queue", async () => {
    await using world = await setupBalanced();
    const body = { name: "queue", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
    const { status, text } = await refusal(open({ ...world, endpoint: id }, "/echo"));
    expect([status, JSON.parse(text).error]).toEqual([400, "not allowed for QB API"]);
  });
});

test.each([
  ["with it, after the plain door", "", true],
  ["with it, after Node", "TE: trailers\r\n", true],
  ["later, after the plain door", "", false],
  ["later, after Node", "TE: trailers\r\n", false],
])(
  "one that is asked for behind a request in progress is answered as a plain request, in its turn: %s",
  async (_how, more, isAtOnce) => {
    await using world = await setupBalanced();
    const held = Promise.withResolvers<void>();
    world.worker("w1", (request, response) => {
      if (request.url === "/echo") response.end(`no ${request.headers.upgrade}`);
      else void held.promise.then(() => response.end("first"));
    });
    const asking = (path: string, lines: string) =>
      `GET /v2/${world.endpoint}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${world.key}\r\n${lines}\r\n`;
    const upgrading = asking(
      "/echo",
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n",
    );
    const client = connect(Number(new URL(world.url).port), "127.0.0.1").setEncoding("latin1");
    let heard = "";
    client.on("data", (text: string) => {
      heard += text;
    });
    client.write(asking("/held", more) + (isAtOnce ? upgrading : ""));
    await idle();
    if (!isAtOnce) client.write(upgrading);
    await idle();
    expect(heard).toBe("");
    held.resolve();
    while (!heard.includes("undefined")) await turn();
    expect(heard).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n(5\r\n)?first[\s\S]*HTTP\/1\.1 200 [\s\S]*\r\n\r\n(c\r\n)?no undefined/,
    );
    client.destroy();
  },
);

describe("what goes wrong", () => {
  test("a worker's refusal reaches the client, without what is not for it", async () => {
    await using world = await setupBalanced();
    echoing(world, "w1");
    const { status, text, headers } = await refusal(open(world, "/forbidden"));
    expect([status, text]).toEqual([403, "no"]);
    expect(headers["set-cookie"]).toBeUndefined();
    expect(headers["content-security-policy"]).toBe("sandbox allow-scripts allow-forms");
  });

  test("an application without WebSockets answers as to a plain request", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (_request, response) => void response.end("plain"));
    const { status, text } = await refusal(open(world, "/"));
    expect([status, text]).toEqual([200, "plain"]);
  });

  test("502 when nobody listens", async () => {
    await using world = await setupBalanced();
    const dial = () => Promise.reject(new Error("nobody listens"));
    world.app.balancer.add(world.endpoint, { worker: "w1", dial });
    world.app.balancer.ready(world.endpoint, "w1");
    const { status, text } = await refusal(open(world, "/"));
    expect([status, JSON.parse(text).error]).toEqual([502, "worker w1 refused the connection: nobody listens"]);
  });

  test("a worker that does not listen passes a WebSocket on to another one", async () => {
    await using world = await setupBalanced();
    const dial = () => Promise.reject(new Error("nobody listens"));
    world.app.balancer.add(world.endpoint, { worker: "deaf", dial, doubted: () => {} });
    world.app.balancer.ready(world.endpoint, "deaf");
    echoing(world, "w1");
    const client = open(world, "/echo");
    await once(client, "open");
    client.send("hello");
    expect(String((await once(client, "message"))[0])).toBe("hello");
    client.terminate();
  });

  test("a client that goes away after a worker refused it is forgotten", async () => {
    await using world = await setupBalanced();
    const dial = () => Promise.reject(new Error("nobody listens"));
    world.app.balancer.add(world.endpoint, { worker: "deaf", dial, doubted: () => {} });
    world.app.balancer.ready(world.endpoint, "deaf");
    const client = open(world, "/echo");
    client.on("error", () => {});
    await world.clock.armed(WAIT_FOR_ANY_MS);
    client.terminate();
    await world.clock.disarmed(WAIT_FOR_ANY_MS);
    expect(world.app.balancer.demand(world.endpoint).waiting).toBe(0);
  });

  test("a worker that dies ends the connection", async () => {
    await using world = await setupBalanced();
    const { worker } = echoing(world, "w1");
    const client = open(world, "/echo");
    await once(client, "open");
    const closed = once(client, "close");
    worker.die();
    expect((await closed)[0]).toBe(1006);
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test("a client that goes away while it waits is forgotten", async () => {
    await using world = await setupBalanced();
    const client = open(world, "/echo");
    client.on("error", () => {});
    await world.clock.armed(WAIT_FOR_ANY_MS);
    client.terminate();
    await world.clock.disarmed(WAIT_FOR_ANY_MS);
    expect(world.app.balancer.demand(world.endpoint).waiting).toBe(0);
  });

  test("the end of the server ends every one at once, and leaves no timer", async () => {
    const world = await setupBalanced();
    const { sockets } = echoing(world, "w1");
    const client = open(world, "/echo");
    await once(client, "open");
    const closed = once(client, "close");
    await world[Symbol.asyncDispose]();
    expect((await closed)[0]).toBe(1006);
    for (const there of sockets.clients) there.terminate();
    expect(world.clock.waiting).toBe(0);
  });
});
