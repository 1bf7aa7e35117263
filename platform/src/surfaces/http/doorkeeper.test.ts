/** However many connections one account has, others can still connect, and each connection may send only so much. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { setup, type World } from "../../../tests/world.ts";
import { turn } from "../../kernel/clock.ts";
import { HELD_OF_A_WORKER } from "../worker-link/held-calls.ts";

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function open({ url }: Pick<World, "url">, text = ""): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  sockets.push(socket.on("error", () => {}));
  await once(socket, "connect");
  if (text) socket.write(text);
  return socket;
}

const requestText = (key: string, method: string, path: string, body = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Returns the statuses of the answers on a connection once there are this many, or once it is closed. */
async function answersOn(socket: Socket, count = 1): Promise<string[]> {
  let text = "";
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!);
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  while (statuses().length < count && !socket.destroyed) await turn();
  return statuses();
}

async function holding(most: number) {
  const world = await setupJobs({ connections: most });
  const hold = () => open(world, requestText(world.key, "POST", `/v2/${world.endpoint}/runsync`, '{"input":{}}'));
  return { world, hold, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

describe("an account", () => {
  test("holds as many connections as are free for others, and is told why it gets no more", async () => {
    await using held = await holding(21);
    const { world, hold } = held;
    const first = [];
    for (let i = 0; i < 10; i++) first.push(await hold());
    while ((await world.queue.counts(world.endpoint)).inQueue < 10) await turn();
    const refused = await world.call("GET", `/v2/${world.endpoint}/health`);
    expect([refused.status, refused.json.error]).toEqual([429, expect.stringContaining("has 10 under way")]);
    expect(refused.headers.get("retry-after")).toBe("5");
    const strangers = await world.strangersKey();
    expect((await world.call("GET", "/v2/serverless", { key: strangers })).status).toBe(200);
    for (const socket of first) socket.destroy();
    for (;;) {
      const { status } = await world.call("GET", `/v2/${world.endpoint}/health`);
      if (status === 200) break;
    }
  });

  test("gets one at least, however many others have", async () => {
    await using held = await holding(2);
    await held.hold();
    while ((await held.world.queue.counts(held.world.endpoint)).inQueue < 1) await turn();
    const { status } = await held.world.call("GET", "/v2/serverless", { key: await held.world.strangersKey() });
    expect(status).toBe(200);
  });
});

describe("connections on which nothing is asked", () => {
  test("give way to others, the idlest first", async () => {
    await using world = await setup({ connections: 10 });
    const silent = [];
    for (let i = 0; i < 30; i++) silent.push((await open(world, i % 2 ? "GET / HTTP/1.1\r\nX-Slow:" : "")).resume());
    expect((await world.call("GET", "/v2/serverless")).status).toBe(200);
    while (silent.filter(({ destroyed }) => destroyed).length < 21) await turn();
    expect(silent.findIndex(({ destroyed }) => !destroyed)).toBe(21);
    for (const socket of silent) socket.destroy();
  });
});

describe("requests that are sent ahead on one connection", () => {
  test("are answered one after the other", async () => {
    await using world = await setup();
    const asked = requestText(`Bearer ${world.key}`, "GET", "/v2/serverless");
    expect(await answersOn(await open(world, asked.repeat(50)), 50)).toEqual(Array(50).fill("200"));
  });

  test("are not begun before the one before them is answered", async () => {
    await using held = await holding(100);
    const { world } = held;
    const asked = requestText(world.key, "POST", `/v2/${world.endpoint}/runsync`, '{"input":{}}');
    await open(world, asked.repeat(20));
    while ((await world.queue.counts(world.endpoint)).inQueue < 1) await turn();
    for (let i = 0; i < 20; i++) await turn();
    expect((await world.queue.counts(world.endpoint)).inQueue).toBe(1);
  });

  test("close it when they are too many", async () => {
    await using held = await holding(100);
    const { world } = held;
    const asked = requestText(world.key, "POST", `/v2/${world.endpoint}/runsync`, '{"input":{}}');
    const socket = await open(world, asked.repeat(150));
    socket.resume();
    await once(socket, "close");
    expect((await world.call("GET", `/v2/${world.endpoint}/health`)).status).toBe(200);
  });
});

test("a client that takes nothing of its answer for a minute is given up", async () => {
  await using world = await setup();
  const asked = requestText(`Bearer ${world.key}`, "GET", "/v2/openapi.json");
  const sending = connect(Number(new URL(world.url).port), "127.0.0.1");
  sockets.push(sending.on("error", () => {}).pause());
  // These answers are longer than the buffers of both ends.
  sending.write(asked.repeat(99));
  const [accepted] = (await once(world.app.http.server, "connection")) as [Socket];
  while (accepted.writableLength === 0) await turn();
  const before = () => accepted.bytesWritten - accepted.writableLength;
  for (let last = -1; last !== before(); ) {
    last = before();
    for (let i = 0; i < 50; i++) await turn();
  }
  await world.clock.advance(60_000);
  expect(accepted.destroyed).toBe(false);
  await world.clock.advance(60_000);
  expect(accepted.destroyed).toBe(true);
});

test("a worker has a bounded number of questions open, and its results are taken all the same", async () => {
  await using world = await setupJobs();
  const { key } = await world.services.workerKeys.issue(world.owner.account, world.endpoint);
  const path = `/v2/${world.endpoint}/job-stop/w1?gpu=none`;
  const asking = [];
  for (let i = 0; i <= HELD_OF_A_WORKER; i++) asking.push(await open(world, requestText(key, "GET", path)));
  const refusal = await Promise.race(asking.map(async (socket) => (await once(socket.setEncoding("utf8"), "data"))[0]));
  expect(refusal).toMatch(/^HTTP\/1\.1 429 [\s\S]*questions open already/);
  const other = world.call("GET", `/v2/${world.endpoint}/job-take/w2?gpu=none`, { key });
  const done = await world.call("POST", `/v2/${world.endpoint}/job-done/w1/none?gpu=none`, { key, body: {} });
  expect(done.status).toBe(200);
  await world.call("POST", `/v2/${world.endpoint}/run`, { body: { input: {} } });
  expect((await other).status).toBe(200);
  for (const socket of sockets.splice(0)) socket.destroy();
  let taken = 429;
  while (taken === 429) {
    await world.call("POST", `/v2/${world.endpoint}/run`, { body: { input: {} } });
    taken = (await world.call("GET", `/v2/${world.endpoint}/job-take/w1?gpu=none`, { key })).status;
  }
  expect(taken).toBe(200);
});
