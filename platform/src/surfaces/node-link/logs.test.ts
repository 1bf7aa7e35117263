/** A worker's log, requested from a node other than the worker's. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { eventsOf } from "../../../tests/job-world.ts";
import { type NodeWorld, setupNodes } from "../../../tests/node-world.ts";
import { workerLog } from "../../resources/workers/model.ts";

const KEEP_ALIVE_MS = 15_000;
const GIVEN_UP_MS = 45_000;

/** Two nodes, and a worker on the first that wrote these lines. */
async function setup(...lines: string[]) {
  const nodes = await setupNodes();
  const { text: worker } = await nodes.ask();
  const stream = workerLog(nodes.endpoint, worker);
  const write = (...written: string[]) => {
    const ts = nodes.first.clock.now();
    nodes.first.logs.append(
      stream,
      written.map((line) => ({ source: "container", ts, line })),
    );
  };
  write(...lines);
  return { nodes, worker, write };
}

const pathOf = ({ endpoint }: NodeWorld, worker: string, query = "") =>
  `/v2/serverless/${endpoint}/workers/${worker}/logs${query}`;

const follow = (nodes: NodeWorld, worker: string, query: string, headers: Record<string, string> = {}) =>
  followAt(nodes, pathOf(nodes, worker, query), headers);

async function followAt(nodes: NodeWorld, path: string, headers: Record<string, string> = {}) {
  const request = get(nodes.second.url + path, {
    headers: { authorization: `Bearer ${nodes.second.key}`, ...headers },
    agent: false,
  });
  const [incoming] = (await once(request, "response")) as [IncomingMessage];
  incoming.on("error", () => undefined);
  const events = eventsOf(new Response(Readable.toWeb(incoming) as ReadableStream));
  return {
    status: incoming.statusCode,
    type: incoming.headers["content-type"],
    hangUp: () => request.destroy(),
    async take(count: number) {
      const taken: { id?: string; line: string }[] = [];
      while (taken.length < count) {
        const { id, data } = (await events.next()).value!;
        taken.push({ id, line: JSON.parse(data).line });
      }
      return taken;
    },
    ended: new Promise((resolve) => incoming.once("close", resolve)),
  };
}

const lines = (taken: { line: string }[]) => taken.map(({ line }) => line);

test("is that node's log: kept lines first, then each as it is written, with the ids that it has there", async () => {
  const { nodes, worker, write } = await setup("a", "b");
  await using _ = nodes;
  const client = await follow(nodes, worker, "?source=container");
  expect([client.status, client.type]).toEqual([200, "text/event-stream"]);
  expect(lines(await client.take(2))).toEqual(["a", "b"]);
  write("c", "d");
  const later = await client.take(2);
  expect(lines(later)).toEqual(["c", "d"]);
  const [kept] = await nodes.first.logs.read(workerLog(nodes.endpoint, worker), { from: { tail: 1 } });
  expect(later[1]!.id).toMatch(new RegExp(`/0*${kept!.sequence}$`));
  client.hangUp();
});

test("begins where `tail`, `since` or `Last-Event-ID` says", async () => {
  const { nodes, worker, write } = await setup("a", "b");
  await using _ = nodes;
  await nodes.pass(1);
  const since = new Date(nodes.first.clock.now()).toISOString();
  write("c", "d");
  const all = await follow(nodes, worker, "?source=container");
  const { id } = (await all.take(1))[0]!;
  const tail = await follow(nodes, worker, "?source=container&tail=1");
  expect(lines(await tail.take(1))).toEqual(["d"]);
  const timed = await follow(nodes, worker, `?source=container&since=${since}`);
  expect(lines(await timed.take(2))).toEqual(["c", "d"]);
  const resumed = await follow(nodes, worker, "?source=container", { "last-event-id": id! });
  expect(lines(await resumed.take(3))).toEqual(["b", "c", "d"]);
  for (const client of [all, tail, timed, resumed]) client.hangUp();
});

test("a client that hangs up leaves nothing behind on either node", async () => {
  const { nodes, worker } = await setup("a");
  await using _ = nodes;
  const client = await follow(nodes, worker, "");
  await nodes.first.clock.armed(KEEP_ALIVE_MS, 2);
  client.hangUp();
  await nodes.first.clock.disarmed(KEEP_ALIVE_MS);
  await nodes.first.clock.disarmed(GIVEN_UP_MS);
});

test("of a worker that has ended is found with the node that kept it", async () => {
  const { nodes, worker } = await setup("a");
  await using _ = nodes;
  nodes.first.running()[0]!.instance.exit({ code: 0 });
  await nodes.pass(2);
  await nodes.first.services.workerRecords.remove(worker);
  await nodes.pass(2);
  const client = await follow(nodes, worker, "?source=container");
  expect(lines(await client.take(1))).toEqual(["a"]);
  client.hangUp();
});

test("of a worker that no node knows is 404", async () => {
  const { nodes } = await setup();
  await using _ = nodes;
  const { status, json } = await nodes.second.call("GET", pathOf(nodes, "zzzzzzzzzzzzzz"));
  expect([status, json.detail]).toEqual([404, "worker not found"]);
});

test("ends with a line that says so when its node is lost, and is 502 and names the node until it is back", async () => {
  const { nodes, worker } = await setup("a");
  await nodes.pass(2);
  const client = await follow(nodes, worker, "?source=container");
  const [line] = await client.take(1);
  await nodes.first.abandon();
  await using second = nodes.second;
  // With its id, a client goes on behind the last line of the worker.
  expect(await client.take(1)).toEqual([
    { id: line!.id, line: expect.stringMatching(/^the log breaks off: node first (is not reachable|has ended)/) },
  ]);
  await client.ended;
  const refused = await second.call("GET", pathOf(nodes, worker));
  expect([refused.status, refused.json.detail]).toEqual([502, "node first is not reachable: ECONNREFUSED"]);
});

test("of another account's worker is 404 at either node, whichever endpoint it is asked of", async () => {
  const { nodes, worker } = await setup("a");
  await using _ = nodes;
  const key = await nodes.second.strangersKey();
  const body = { name: "theirs", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const theirs = (await nodes.second.call("POST", "/v2/serverless", { key, body })).json.id;
  for (const endpoint of [nodes.endpoint, theirs]) {
    const { status, text } = await nodes.second.call("GET", pathOf({ ...nodes, endpoint }, worker), { key });
    expect([status, text.includes("first")]).toEqual([404, false]);
  }
});

test("is part of the endpoint's one stream on every node", async () => {
  const { nodes, worker, write } = await setup("a", "b");
  await using _ = nodes;
  // The other node sees the records of workers within a second.
  await nodes.pass(2);
  const path = `/v2/serverless/${nodes.endpoint}/logs`;
  const kept = await nodes.second.call("GET", `${path}?source=container&follow=false`);
  expect(kept.text.match(/"line":"\w+"/g)).toEqual(['"line":"a"', '"line":"b"']);
  const client = await followAt(nodes, `${path}?source=container&tail=1`);
  expect(lines(await client.take(1))).toEqual(["b"]);
  write("c");
  const [later] = await client.take(1);
  expect([later!.line, later!.id]).toEqual(["c", expect.stringContaining(`/${worker}.`)]);
  client.hangUp();
});
