/** Who may use a private HTTP port of a Pod, and which tricks do not work. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Asked, askHost, serve } from "../../../tests/pod-application.ts";
import { CPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";

const DOMAIN = "pods.test";
const WEB_POD = { ...CPU_POD, ports: ["8888/http", "9000/http"] };
const COOKIE = "__Host-millrace-port";

function setup(options: Parameters<typeof setupPods>[0] = {}) {
  const behaviour = (instance: Parameters<typeof serve>[0]) => {
    serve(instance, 8888);
    serve(instance, 9000);
  };
  return setupPods({ domain: DOMAIN, machine: { behaviour }, ...options });
}

const hostOf = (pod: string, port = 8888) => `${pod}-${port}.${DOMAIN}`;

function ask(world: PodWorld, pod: string, asked: Asked = {}, port = 8888) {
  return askHost(world.url, hostOf(pod, port), asked);
}

const withCookie = (value: string, headers: Record<string, string> = {}) => ({
  headers: { ...headers, Cookie: `${COOKIE}=${value}` },
});

async function link(world: PodWorld, pod: string, port = 8888): Promise<URL> {
  const { status, json } = await world.call("POST", `/v2/pods/${pod}/ports/${port}/link`);
  expect(status).toBe(201);
  return new URL(json.url);
}

/** Opens a link and returns the value of the cookie that it sets. */
async function opened(world: PodWorld, pod: string, port = 8888): Promise<string> {
  const { pathname } = await link(world, pod, port);
  const answer = await ask(world, pod, { path: pathname }, port);
  expect(answer.status).toBe(303);
  return new RegExp(`^${COOKIE}=([^;]+)`).exec(answer.headers["set-cookie"]![0]!)![1]!;
}

test("nobody without a key or a cookie, whether there is such a Pod or not", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const [known, unknown] = [await ask(world, id), await ask(world, "abcdefghijklmn")];
  expect(known.status).toBe(401);
  expect(known.json.detail).toBe(
    `Ports of Pods are private here: send an API key as X-Millrace-Key, or open a link made by POST /v2/pods/${id}/ports/8888/link.`,
  );
  expect(unknown.json.detail.replaceAll("abcdefghijklmn", id)).toBe(known.json.detail);
});

test("a key of the account with pods:read; of another account there is no such port", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const statusOf = async (key: string) => (await ask(world, id, { headers: { "X-Millrace-Key": key } })).status;
  expect(await statusOf(await world.newKey({ scopes: ["pods:read"] }))).toBe(200);
  expect(await statusOf(await world.newKey({ scopes: ["secrets:write"] }))).toBe(403);
  expect(await statusOf(await world.strangersKey())).toBe(404);
  expect(await statusOf("mlr_nobody's-key-of-any-account")).toBe(401);
  const [program] = world.running();
  expect(await statusOf(program!.spec.env.RUNPOD_API_KEY!)).toBe(200);
  const other = await world.create(WEB_POD);
  const own = world.running().find(({ spec }) => spec.owner === other.id)!.spec.env.RUNPOD_API_KEY!;
  expect(await statusOf(own)).toBe(404);
});

test("a link opens once, and sets a cookie for that host alone", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const { host, pathname: path } = await link(world, id);
  expect(host).toBe(hostOf(id));
  expect((await ask(world, id, { method: "HEAD", path })).status).toBe(401);
  const answers = await Promise.all([1, 2, 3].map(() => ask(world, id, { path })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404]);
  const { headers } = answers.find(({ status }) => status === 303)!;
  expect(headers).toMatchObject({ location: "/", "cache-control": "no-store", "referrer-policy": "no-referrer" });
  const [cookie] = headers["set-cookie"]!;
  expect(cookie).toMatch(/^__Host-millrace-port=[\w-]{43}; Path=\/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure$/);
  expect((await ask(world, id, { path })).status).toBe(404);
});

test("on loopback the cookie is named after its port, for there is no TLS", async () => {
  await using world = await setup({ domain: undefined, publicUrl: "http://127.0.0.1:7420" });
  const { id } = await world.create(WEB_POD);
  const { host, pathname: path } = await link(world, id);
  const answer = await askHost(world.url, host, { path });
  const [cookie] = answer.headers["set-cookie"]!;
  expect(cookie).toMatch(
    new RegExp(`^millrace-port-${id}-8888=[\\w-]{43}; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax$`),
  );
  const let_in = await askHost(world.url, host, { headers: { Cookie: `other=1; ${cookie!.split(";")[0]}` } });
  expect(let_in.json.headers.cookie).toBe("other=1");
});

test("a cookie opens its own port of its own Pod; a restart of the server changes nothing", async () => {
  await using first = await setup();
  const { id } = await first.create(WEB_POD);
  const other = await first.create(WEB_POD);
  const cookie = await opened(first, id);
  await using world = await first.crash();
  expect((await ask(world, id, withCookie(cookie))).json.pod).toBe(id);
  expect((await ask(world, id, withCookie(cookie), 9000)).status).toBe(401);
  expect((await ask(world, other.id, withCookie(cookie))).status).toBe(401);
  const path = `/pods/${id}/ports/8888/`;
  expect((await askHost(world.url, "millrace.test", { path, ...withCookie(cookie) })).status).toBe(401);
});

test("a link is no cookie, leads nowhere else, and is late after ten minutes", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const { pathname } = await link(world, id);
  expect((await ask(world, id, withCookie(pathname.split("/").at(-1)!))).status).toBe(401);
  expect((await ask(world, id, { path: pathname }, 9000)).status).toBe(404);
  await world.clock.advance(10 * 60_000);
  expect((await ask(world, id, { path: pathname })).status).toBe(404);
});

test("a visit ends with the key that its link was made with, and with the Pod", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const key = await world.newKey({ scopes: ["pods:write"] });
  const { json } = await world.call("POST", `/v2/pods/${id}/ports/8888/link`, { key });
  const answer = await ask(world, id, { path: new URL(json.url).pathname });
  const cookie = /=([^;]+)/.exec(answer.headers["set-cookie"]![0]!)![1]!;
  expect((await ask(world, id, withCookie(cookie))).status).toBe(200);
  const { apiKeys } = (await world.call("GET", "/v2/account/api-keys")).json;
  const { id: keyId } = apiKeys.find((one: { scopes: string[] }) => one.scopes.includes("pods:write"));
  await world.call("DELETE", `/v2/account/api-keys/${keyId}`);
  await world.clock.advance(1000);
  expect((await ask(world, id, withCookie(cookie))).status).toBe(401);
  const mine = await opened(world, id);
  await world.act(id, "terminate");
  await world.pass(11);
  expect((await ask(world, id, withCookie(mine))).status).toBe(401);
  expect(await world.store.count({ kind: "port-visit" })).toBe(0);
});

test.each([
  ["a script of another Pod", { Origin: "https://other.pods.test", "Sec-Fetch-Site": "same-site" }],
  ["a form of another page", { Origin: "https://evil.test" }],
  ["a page without an origin", { Origin: "null" }],
  [
    "a picture in another page",
    { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image" },
  ],
  [
    "a frame in another page",
    { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe" },
  ],
])("%s cannot use the cookie of whoever looks at it", async (_, headers) => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const cookie = await opened(world, id);
  expect((await ask(world, id, withCookie(cookie, headers as Record<string, string>))).status).toBe(403);
});

test("its own pages can, and so can a user who follows a link from elsewhere", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const cookie = await opened(world, id);
  const own = { Origin: `https://${hostOf(id)}`, "Sec-Fetch-Site": "same-origin" };
  const followed = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  for (const headers of [own, followed]) expect((await ask(world, id, withCookie(cookie, headers))).status).toBe(200);
});

test("a WebSocket of another origin is refused, one of its own is not", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const cookie = await opened(world, id);
  const socket = (origin: string) =>
    new WebSocket(world.url.replace("http", "ws"), {
      headers: { host: hostOf(id), Cookie: `${COOKIE}=${cookie}`, Origin: origin },
    });
  const own = socket(`https://${hostOf(id)}`);
  await once(own, "open");
  own.terminate();
  const foreign = socket(`https://${hostOf("abcdefghijklmn")}`);
  foreign.on("error", () => {});
  const [, response] = await once(foreign, "unexpected-response");
  expect(response.statusCode).toBe(403);
  response.resume();
});

test("what another host set for the whole domain under the same name is passed over", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const cookie = await opened(world, id);
  const headers = { Cookie: `${COOKIE}=planted; ${COOKIE}=${cookie}` };
  expect((await ask(world, id, { headers })).status).toBe(200);
});

test("links are made for own Pods, ports that are named, and where they have a host", async () => {
  await using world = await setup();
  const { id } = await world.create(WEB_POD);
  const make = (port: string, key = world.key) => world.call("POST", `/v2/pods/${id}/ports/${port}/link`, { key });
  expect((await make("8888", await world.strangersKey())).status).toBe(404);
  for (const port of ["80", "x", "08888"]) expect((await make(port)).status).toBe(404);
  await using plain = await setup({ domain: undefined });
  const pod = await plain.create(WEB_POD);
  expect(await plain.call("POST", `/v2/pods/${pod.id}/ports/8888/link`)).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining("set MILLRACE_DOMAIN") },
  });
});
