/** HTTP ports of Pods through the proxy: their addresses, and what passes through. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Asked, askHost, serve } from "../../../tests/pod-application.ts";
import { CPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";
import { setup as setupServer } from "../../../tests/world.ts";
import { turn } from "../../kernel/clock.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";

const DOMAIN = "pods.test";
const WEB_POD = { ...CPU_POD, ports: ["8888/http", "9000/http", "22/tcp"] };

async function setup(options: Parameters<typeof setupPods>[0] = {}) {
  return setupPods({ domain: DOMAIN, machine: { behaviour: (instance) => serve(instance, 8888) }, ...options });
}

const hostOf = (pod: string, port = 8888, domain = DOMAIN) => `${pod}-${port}.${domain}`;

function ask(world: PodWorld, pod: string, { headers, ...asked }: Asked = {}, port?: number) {
  return askHost(world.url, hostOf(pod, port), { ...asked, headers: { "X-Millrace-Key": world.key, ...headers } });
}

test("a port has a host of its own; two Pods on the same port are both reached", async () => {
  await using world = await setup();
  const pods = [await world.create(WEB_POD), await world.create(WEB_POD)];
  for (const { id } of pods)
    expect((await ask(world, id, { path: "/a?b=1" })).json).toMatchObject({ pod: id, method: "GET", url: "/a?b=1" });
  expect((await world.pod(pods[0].id)).runtime.ports[0]).toEqual({
    ...{ private: 8888, public: null, type: "http", ip: null },
    url: `https://${hostOf(pods[0].id)}/`,
  });
});

test("an upload may take longer than other requests, as long as both sides want", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const { server } = world.app.http;
  const connected = once(server, "connection") as Promise<[Socket]>;
  const client = connect(Number(new URL(world.url).port), "127.0.0.1").setEncoding("latin1");
  const head = `POST /stream HTTP/1.1\r\nHost: ${hostOf(id)}\r\nX-Millrace-Key: ${world.key}\r\n`;
  client.write(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n`);
  let heard = "";
  client.on("data", (text: string) => {
    heard += text;
  });
  while (!heard.includes("first")) await turn();
  // This is what Node does when the time for a whole request is over.
  const late = Object.assign(new Error("the request took too long"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
  server.emit("clientError", late, (await connected)[0]);
  client.write("4\r\nlast\r\n0\r\n\r\n");
  while (!heard.endsWith("0\r\n\r\n") && !client.closed) await turn();
  expect(heard).toMatch(/first[\s\S]*last\r\n0\r\n\r\n$/);
  client.destroy();
});

test("on loopback it is a name below localhost, with the server's port", async () => {
  await using world = await setup({ domain: undefined, publicUrl: "http://127.0.0.1:7420" });
  const { id } = await world.create(WEB_POD);
  expect((await world.pod(id)).runtime.ports[0].url).toBe(`http://${id}-8888.localhost:7420/`);
  const headers = { "X-Millrace-Key": world.key };
  const { json } = await askHost(world.url, `${hostOf(id, 8888, "localhost")}:7420`, { headers });
  expect(json.headers.host).toBe(`${id}-8888.localhost:7420`);
});

test("without either it is below a path, from where its pages can do nothing as the user of the server", async () => {
  await using world = await setup({ domain: undefined });
  const { id } = await world.create(WEB_POD);
  const path = `/pods/${id}/ports/8888`;
  expect((await world.pod(id)).runtime.ports[0].url).toBe(`https://millrace.test${path}/`);
  const headers = { "X-Millrace-Key": world.key };
  const answer = await askHost(world.url, "millrace.test", { path: `${path}/cookies`, headers });
  expect(answer.headers).not.toHaveProperty("set-cookie");
  expect(answer.headers["content-security-policy"]).toBe("sandbox allow-scripts allow-forms");
  expect(answer.json).toMatchObject({ url: "/cookies", headers: { "x-forwarded-prefix": path } });
});

test("the program's own Authorization and cookies reach it, and ours do not; a cookie for the whole domain becomes the host's", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const headers = {
    Authorization: "token notebook",
    Cookie: `x=1; __Host-millrace-port=y; millrace-port-${id}-8888=z`,
  };
  const answer = await ask(world, id, { path: "/cookies", headers });
  expect(answer.json.headers).toMatchObject({ authorization: "token notebook", cookie: "x=1" });
  expect(JSON.stringify(answer.json)).not.toContain(world.key);
  expect(answer.headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2"]);
});

test("bodies stream through, however long", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const body = "x".repeat(40 * 1024 * 1024);
  expect((await ask(world, id, { method: "POST", path: "/stream", body })).text.length).toBe(body.length);
});

test("WebSockets pass, and count as use for as long as they are open", async () => {
  await using world = await setup();
  const { id } = await world.create({ ...WEB_POD, idleTimeout: 60 });
  const headers = { host: hostOf(id), "X-Millrace-Key": world.key };
  const client = new WebSocket(world.url.replace("http", "ws"), { headers });
  await once(client, "open");
  client.send("hello");
  expect(String((await once(client, "message"))[0])).toBe("hello");
  await world.pass(90);
  expect((await world.pod(id)).status).toBe("RUNNING");
  client.terminate();
  await world.pass(90);
  expect(await world.pod(id)).toMatchObject({ status: "EXITED" });
});

test("where nothing listens it says so with 502, and where the Pod does not run as well", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const silent = await ask(world, id, {}, 9000);
  expect([silent.status, silent.json.detail]).toEqual([502, expect.stringContaining(`port 9000 of Pod ${id} refused`)]);
  await world.act(id, "stop");
  expect(await ask(world, id)).toMatchObject({
    status: 502,
    json: { detail: `Pod ${id} is EXITED: stopped by its owner` },
  });
  await world.act(id, "start");
  expect((await ask(world, id)).status).toBe(200);
});

test("a program that does not begin to answer in 100 s is not waited for", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const answer = ask(world, id, { path: "/never" });
  await world.clock.armed(100_000);
  await world.clock.advance(100_000);
  expect(await answer).toMatchObject({
    status: 524,
    json: { detail: `port 8888 of Pod ${id} did not begin to answer within 100 s` },
  });
});

test("only ports that are named for HTTP are there, whoever asks", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  for (const port of [22, 80, 70_000]) expect((await ask(world, id, {}, port)).status).toBe(404);
  expect((await ask(world, "abcdefghijklmn")).status).toBe(404);
});

test("nothing of the API is served on the host of a Pod", async () => {
  await using world = await setup({ corsOrigins: "*" });
  const { id } = await world.create(WEB_POD);
  const headers = { Authorization: `Bearer ${world.key}` };
  expect((await ask(world, id, { path: "/v2/pods", headers })).json.pod).toBe(id);
  const asks = { Origin: "https://evil.test", "Access-Control-Request-Method": "POST" };
  const preflight = { method: "OPTIONS", path: "/v2/abcdefghijklmn/run", headers: asks };
  expect((await askHost(world.url, hostOf(id), preflight)).status).toBe(401);
});

test("where ports are public anybody reaches them, and only them", async () => {
  await using world = await setup({ podPorts: "public" });
  const { id } = await world.create(WEB_POD);
  expect((await askHost(world.url, hostOf(id))).json.pod).toBe(id);
  expect((await askHost(world.url, hostOf(id, 22))).status).toBe(404);
  expect((await askHost(world.url, hostOf("abcdefghijklmn"))).status).toBe(404);
});

test("a Pod of another node is reached by way of it, and that counts as use there", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  await using first = await setup({ signals });
  await using second = await setupServer({
    ...{ signals, store: first.store, found: first, machine: "second" },
    ...{ domain: DOMAIN, rateLimits: "off" },
  });
  const { id } = await first.create({ ...WEB_POD, idleTimeout: 60 });
  await first.pass(1);
  const headers = { host: hostOf(id), "X-Millrace-Key": first.key };
  const answer = await askHost(second.url, hostOf(id), { headers });
  expect(answer.json).toMatchObject({ pod: id, url: "/" });
  const client = new WebSocket(second.url.replace("http", "ws"), { headers });
  await once(client, "open");
  client.send("hello");
  expect(String((await once(client, "message"))[0])).toBe("hello");
  await first.pass(90);
  expect((await first.pod(id)).status).toBe("RUNNING");
  client.terminate();
});
