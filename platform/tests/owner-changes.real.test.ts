/** Two nodes on one PostgreSQL. The one that has the machine dies, or leaves in order: what clients of the other one see, way by way. */
import { chmod, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { missingForTests } from "../src/adapters/host/machine.ts";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { EventFollower } from "./event-follower.ts";
import { askHost } from "./pod-application.ts";
import { type Server, startServer, temporaryFolder } from "./process.ts";
import { execOn, logIn, newKeyPair, outcomeOf } from "./ssh-client.ts";
import { podTerminal, reachedAt, TerminalClient } from "./terminal-client.ts";
import { LOOK_MS } from "./worker-place.ts";

const key = apiKeyText(realRandom);
const missing = await missingForTests();
const PROGRAM = `import { createServer } from "node:http";
createServer((request, response) => response.end("here")).listen(8080);
setInterval(() => console.log("a line"), 100);
`;

/** A way to the Pod or to files, through the node that does not have them. Rejects with what a client is told. */
type Ways = Record<string, () => Promise<void>>;

/** What a client holds open, and what it is told when that ends. */
type Held = Record<string, Promise<string>>;

const told = (error: unknown) => String((error as Error)?.message ?? error);

async function waysThrough(node: Server, pod: string, endpoint: string, bucket: string) {
  const pair = newKeyPair();
  await node.call("PUT", "/v2/account/ssh-keys", { key, body: { keys: [pair.public] } });
  const { accessKeyId, secretAccessKey } = (
    await node.call("POST", "/v2/account/s3-keys", { key, body: { name: "k" } })
  ).json;
  const credentials = { accessKeyId, secretAccessKey };
  const place = { endpoint: `${node.url}/s3`, region: "EU-RO-1", forcePathStyle: true, maxAttempts: 1 };
  const s3 = new S3Client({ ...place, credentials });
  const { port, username } = (await node.call("GET", `/v2/pods/${pod}`, { key })).json.ssh.proxy;
  const entering = () => logIn({ port, username, privateKey: pair.private });
  const log = () =>
    fetch(`${node.url}/v2/pods/${pod}/logs?tail=0`, { headers: { authorization: `Bearer ${key}` } }).then(isAnswered);
  const terminal = async () => {
    const { status, json, text } = await node.call("POST", podTerminal(pod), { key, body: {} });
    if (status !== 201) throw new Error(text);
    return new TerminalClient(reachedAt(node, json.url)).opened();
  };
  const ways: Ways = {
    async log() {
      const reader = (await log()).body!.getReader();
      const { done } = await reader.read();
      await reader.cancel();
      if (done) throw new Error("the log ended");
    },
    async terminal() {
      const client = await terminal();
      client.type('echo "is h"ere\r');
      await client.heard("is here");
      client.socket.terminate();
    },
    async ssh() {
      await using client = await entering();
      const { out, errors } = await outcomeOf(await execOn(client, "echo here"));
      if (out !== "here\n") throw new Error(errors);
    },
    async "Pod port"() {
      const { status, text } = await askHost(node.url, `${pod}-8080.localhost`, { headers: { "X-Millrace-Key": key } });
      if (status !== 200) throw new Error(`${status} ${text}`);
    },
    async "load balancing"() {
      const { status, text } = await node.call("GET", `/v2/${endpoint}/hello`, { key });
      if (status !== 200) throw new Error(`${status} ${text}`);
    },
    async S3() {
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "here" }));
      await s3.send(new GetObjectCommand({ Bucket: bucket, Key: "a" })).then(({ Body }) => Body!.transformToString());
    },
  };
  const hold = async (): Promise<Held> => {
    const [client, ssh, lines] = [await terminal(), await entering(), await log()];
    client.type("echo begun\r");
    await client.heard("begun");
    const running = outcomeOf(await execOn(ssh, "sleep 600"));
    return {
      terminal: client.closed.then((code) => `closed with ${code} ${JSON.stringify(client.messages)}`),
      ssh: running
        .then(({ code, signal, errors }) => `ended with ${code ?? signal}: ${errors}`, told)
        .finally(() => ssh.destroy()),
      log: lines.text().then((text) => `ended: ${text.trim().split("\n").at(-1)}`, told),
    };
  };
  return { ways, hold, [Symbol.dispose]: () => s3.destroy() };
}

const isPod = ({ kind }: { kind: string }) => kind === "pod";

async function isAnswered(response: Response): Promise<Response> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

/** Tries each way until it works. Resolves with the seconds that each took, and what was told meanwhile. */
async function untilAllWork(ways: Ways): Promise<Record<string, { seconds: string; told: string }>> {
  const began = performance.now();
  const tries = Object.entries(ways).map(async ([name, works]) => {
    let last = "";
    for (;;) {
      try {
        await works();
        return [name, { seconds: ((performance.now() - began) / 1000).toFixed(1), told: last }] as const;
      } catch (error) {
        last = told(error);
        await stay(LOOK_MS);
      }
    }
  });
  return Object.fromEntries(await Promise.all(tries));
}

test("each way through the other node ends with a reason, and works again when the owner is back", async ({ skip }) => {
  skip(missing !== undefined, missing);
  await using database = await freshDatabase();
  await using one = await temporaryFolder();
  await using two = await temporaryFolder();
  await using app = await temporaryFolder();
  await writeFile(join(app.path, "pod.mjs"), PROGRAM);
  await copyFile(new URL("./fixtures/small-app.mjs", import.meta.url), join(app.path, "app.mjs"));
  await chmod(app.path, 0o755);
  const env = {
    ...{ MILLRACE_API_KEY: key, MILLRACE_DATABASE_URL: database.url, MILLRACE_RATE_LIMITS: "off" },
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  const startOwner = () => startServer(one.path, { env: { ...env, MILLRACE_COMPUTE: "host" } });
  await using other = await startServer(two.path, { env });
  let owner = await startOwner();
  await using ending = new AsyncDisposableStack();
  ending.defer(async () => void (await owner.end("SIGTERM")));
  const make = async (path: string, body: object) => {
    // The owner knows its own machine at once, the other node some seconds later.
    const { status, json, text } = await owner.call("POST", path, { key, body });
    expect([path, status, status === 201 ? "" : text]).toEqual([path, 201, ""]);
    return json.id as string;
  };
  const program = (file: string) => ({ image: `host:${app.path}`, cmd: ["node", file] });
  const gpu = { id: "NVIDIA A40" };
  const pod = await make("/v2/pods", { name: "box", ...program("pod.mjs"), gpu, ports: ["8080/http"] });
  ending.defer(async () => {
    await owner.call("DELETE", `/v2/pods/${pod}`, { key });
    // A Pod outlives its server, so the server ends after it.
    const left = async () => (await owner.call("GET", "/v2/installation/machines", { key })).json.machines;
    while ((await left()).some(({ instances }: { instances: { kind: string }[] }) => instances.some(isPod)))
      await stay(LOOK_MS);
  });
  const bucket = await make("/v2/network-volumes", { name: "files", size: 10, dataCenter: "EU-RO-1" });
  const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
  const balanced = { type: "LOAD_BALANCER", env: { PORT: "18440" }, workers: { min: 1, max: 1 } };
  const endpoint = await make("/v2/serverless", { name: "app", ...program("app.mjs"), cpu, ...balanced });
  while (!(await other.call("GET", `/v2/pods/${pod}`, { key })).json.ssh.proxy) await stay(LOOK_MS);
  using through = await waysThrough(other, pod, endpoint, bucket);
  await untilAllWork(through.ways);
  const events = new EventFollower();
  expect(await events.connect({ url: other.url, key })).toBe(200);

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    const held = await through.hold();
    await owner.end(signal);
    const ends: Record<string, string> = {};
    for (const [name, end] of Object.entries(held)) ends[name] = (await end).slice(0, 200);
    const away = await Promise.all(
      ["log", "terminal", "ssh", "Pod port", "S3"].map((name) => through.ways[name]!().then(() => "works", told)),
    );
    owner = await startOwner();
    const back = await untilAllWork(through.ways);
    console.log(signal, JSON.stringify({ ends, away: away.map((text) => text.slice(0, 200)), back }, null, 1));
    for (const said of [...Object.values(ends), ...away]) expect(said).toMatch(/node/i);
  }
  // Events come from the store, so the follower of the other node heard of everything on one connection.
  const heard = events.heard.length;
  await other.call("POST", "/v2/templates", { key, body: { name: "t", image: "host" } });
  while (events.heard.length === heard) await stay(LOOK_MS);
  expect(events.resets).toBe(1);
  await events.disconnect();
}, 240_000);
