/** Ports of Pods on a real server: each is reachable at its address, but not for others. */
import { once } from "node:events";
import { chmod, copyFile, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { missingForTests } from "../src/adapters/host/machine.ts";
import { stay } from "../src/kernel/clock.ts";
import { askHost } from "./pod-application.ts";
import { millrace, temporaryFolder } from "./process.ts";
import { LOOK_MS, type ServerPlace, serverPlace } from "./worker-place.ts";
import type { Answer } from "./world.ts";

const PROGRAM = new URL("./fixtures/pod-port-program.mjs", import.meta.url);
const missing = await missingForTests();

type Pod = Answer["json"];

async function runs(at: ServerPlace, key: string, body: object): Promise<Pod> {
  const { status, json, text } = await at.server.call("POST", "/v2/pods", { key, body });
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  for (;;) {
    const { json: pod } = await at.server.call("GET", `/v2/pods/${json.id}`, { key });
    if (pod.status === "ERROR") throw new Error(pod.statusReason);
    if (pod.status === "RUNNING" && (await ask(at, pod, key)).status === 200) return pod;
    await stay(LOOK_MS);
  }
}

const hostOf = ({ id }: Pod) => `${id}-8080.localhost`;

const ask = (at: ServerPlace, pod: Pod, key: string, path = "/") =>
  askHost(at.server.url, hostOf(pod), { path, headers: { "X-Millrace-Key": key } });

async function knock({ runtime }: Pod): Promise<string> {
  const { public: port, ip } = runtime.ports.find((one: { type: string }) => one.type === "tcp");
  const socket = connect(port, ip);
  return String((await once(socket, "data"))[0]);
}

test("Pods on the same ports, WebSockets, links, names among each other, and an account that reaches none of it", async ({
  onTestFailed,
  skip,
}) => {
  skip(missing !== undefined, missing);
  await using app = await temporaryFolder();
  await copyFile(PROGRAM, join(app.path, "pod.mjs"));
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "pod.mjs"] };
  await using at = await serverPlace({ program, env: { MILLRACE_HOST_IMAGES: "on" }, onFailure: onTestFailed });
  const { key: strangersKey } = await millrace(at.data, "accounts", "create", "stranger");
  const body = {
    name: "web",
    ...program,
    ports: ["8080/http", "2222/tcp"],
    gpu: { id: "NVIDIA A40" },
    globalNetworking: true,
  };
  const [first, second, strange] = await Promise.all([
    runs(at, at.key, body),
    runs(at, at.key, body),
    runs(at, strangersKey, body),
  ]);

  for (const pod of [first, second, strange]) expect(await knock(pod)).toBe(`I am ${pod.id}`);
  for (const pod of [first, second]) expect((await ask(at, pod, at.key)).text).toBe(pod.id);

  // A browser opens a link once, and then uses its cookie, also for a WebSocket.
  const { json: link } = await at.call("POST", `/v2/pods/${first.id}/ports/8080/link`);
  const { host, pathname: path } = new URL(link.url);
  const opened = await askHost(at.server.url, host, { path });
  expect([opened.status, (await askHost(at.server.url, host, { path })).status]).toEqual([303, 404]);
  const Cookie = opened.headers["set-cookie"]![0]!.split(";")[0]!;
  expect((await askHost(at.server.url, host, { headers: { Cookie } })).text).toBe(first.id);
  const socket = new WebSocket(at.server.url.replace("http", "ws"), {
    headers: { host, Cookie, Origin: `http://${host}` },
  });
  expect(String((await once(socket, "message"))[0])).toBe(first.id);
  socket.terminate();

  // The other account reaches nothing, neither through the proxy nor from inside its own Pod.
  expect((await ask(at, first, strangersKey)).status).toBe(404);
  expect((await askHost(at.server.url, hostOf(strange), { headers: { Cookie } })).status).toBe(401);
  const reach = async (from: Pod, key: string, to: string) =>
    (await ask(at, from, key, `/reach?host=${to}&port=8080`)).text;
  expect(await reach(first, at.key, `${second.id}.runpod.internal`)).toBe("reached");
  for (const to of [`${first.id}.runpod.internal`, `${first.id}.millrace.internal`, first.globalNetworking.ip])
    expect([to, await reach(strange, strangersKey, to)]).toEqual([to, "unreachable"]);

  for (const [{ id }, key] of [
    [first, at.key],
    [second, at.key],
    [strange, strangersKey],
  ] as const)
    expect((await at.server.call("DELETE", `/v2/pods/${id}`, { key })).status).toBe(204);
  const left = async () => (await readdir(join(at.data, "instances"))).filter((name) => !name.startsWith("."));
  while ((await left()).length > 0) await stay(LOOK_MS);
});
