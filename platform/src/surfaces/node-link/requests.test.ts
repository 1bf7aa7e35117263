/** Requests to a load-balancing endpoint that arrive at a node without any of its workers. */
import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Held, type NodeWorld, setupNodes } from "../../../tests/node-world.ts";

const WAIT_FOR_ANY_MS = 120_000;
const MB = 1_000_000;

const workerIn = (answer: { headers: Headers }) => answer.headers.get("x-millrace-worker-id");

/** Begins a request on a connection of its own, which can be written to and abandoned. */
function begin({ second, endpoint }: NodeWorld, method: string, path: string) {
  const headers = { authorization: `Bearer ${second.key}` };
  return request(`${second.url}/v2/${endpoint}${path}`, { method, headers, agent: false }).on("error", () => {});
}

/** Answers and closes the connection, which would otherwise stay open for up to a second of real time. */
async function answerLast({ request, response }: Held, text: string): Promise<void> {
  const closed = once(request.socket, "close");
  response.writeHead(200, { connection: "close" }).end(text);
  await closed;
}

describe("a request through the other node", () => {
  test("from zero workers starts one on the machine that there is, and is answered by it", async () => {
    await using nodes = await setupNodes();
    const answer = await nodes.ask();
    expect([answer.status, answer.text, nodes.first.started]).toEqual([200, workerIn(answer), [answer.text]]);
  });

  test("is answered by the worker that runs, over the connection that the last one left", async () => {
    await using nodes = await setupNodes();
    const { text: worker } = await nodes.ask();
    const dialled = nodes.first.app.balancer.occupations(nodes.endpoint).get(worker)!.inFlight;
    expect((await nodes.ask()).text).toBe(worker);
    expect(nodes.first.app.balancer.occupations(nodes.endpoint).get(worker)!.inFlight).toBe(dialled);
  });

  test("has bodies of megabytes go both ways unchanged", async () => {
    await using nodes = await setupNodes();
    const body = Buffer.from(Array.from({ length: 5 * MB }, (_, i) => i % 251));
    const { status, text } = await nodes.ask("/echo", { method: "POST", body: body.toString("latin1") });
    expect([status, text === body.toString("latin1")]).toEqual([200, true]);
  });

  test("streams: what is sent arrives before the rest is, in both directions", async () => {
    await using nodes = await setupNodes();
    const sending = begin(nodes, "POST", "/slow");
    sending.write("one");
    await nodes.reached(1);
    const { request, response } = nodes.held[0]!;
    expect(String((await once(request, "data"))[0])).toBe("one");
    response.write("two");
    const [answer] = await once(sending, "response");
    expect(String((await once(answer, "data"))[0])).toBe("two");
    sending.end("three");
    expect(String((await once(request, "data"))[0])).toBe("three");
    const last = Promise.all([once(answer, "data"), once(answer, "end")]);
    response.end("four");
    expect(String((await last)[0][0])).toBe("four");
  });

  test("that its client gives up is given up at the worker", async () => {
    await using nodes = await setupNodes();
    const asked = begin(nodes, "GET", "/slow").end();
    await nodes.reached(1);
    asked.destroy();
    await once(nodes.held[0]!.response, "close");
  });

  test("can be a WebSocket", async () => {
    await using nodes = await setupNodes();
    const url = `${nodes.second.url.replace("http", "ws")}/v2/${nodes.endpoint}/socket`;
    const client = new WebSocket(url, { headers: { authorization: `Bearer ${nodes.second.key}` } });
    await once(client, "open");
    client.send("hello");
    expect(String((await once(client, "message"))[0])).toBe("hello");
    client.close(1000, "done");
    expect((await once(client, "close"))[0]).toBe(1000);
  });

  test("shows the worker neither the caller's key nor the node's pass", async () => {
    await using nodes = await setupNodes();
    const asked = nodes.ask("/slow");
    await nodes.reached(1);
    const { request, response } = nodes.held[0]!;
    expect(request.rawHeaders.join("\n")).not.toContain(nodes.second.key);
    expect(request.rawHeaders.join("\n")).not.toMatch(/node-pass/i);
    response.end();
    expect((await asked).status).toBe(200);
    expect(nodes.first.logged.join("\n")).not.toContain(nodes.second.key);
  });
});

describe("how busy workers are is known to both nodes:", () => {
  test("requests of both ask for workers together", async () => {
    await using nodes = await setupNodes({ workers: { max: 2 } });
    const here = nodes.first.call("GET", `/v2/${nodes.endpoint}/slow`);
    await nodes.reached(1);
    const there = nodes.ask("/slow");
    await nodes.reached(2);
    await nodes.pass(2);
    expect(nodes.first.started).toHaveLength(2);
    for (const { response } of nodes.held) response.end();
    expect([(await here).status, (await there).status]).toEqual([200, 200]);
  });

  test("the least busy worker is chosen, whichever node keeps the other one busy", async () => {
    await using nodes = await setupNodes({ workers: { min: 2, max: 2 } });
    await nodes.pass(2);
    const here = nodes.first.call("GET", `/v2/${nodes.endpoint}/slow`);
    await nodes.reached(1);
    // One second passes until the first node reports it, and one until the second hears it.
    await nodes.pass(2);
    const busy = nodes.held[0]!.worker;
    for (let i = 0; i < 3; i++) expect((await nodes.ask()).text).not.toBe(busy);
    nodes.held[0]!.response.end();
    await here;
  });

  test("with a worker on each machine, requests to either node go to both in turn", async () => {
    await using nodes = await setupNodes({ workers: { min: 2, max: 2 } }, { each: true });
    await nodes.pass(3);
    const machines = (await nodes.first.records()).map(({ machine }) => machine);
    expect(machines.toSorted()).toEqual(["first", "second"]);
    for (const node of [nodes.first, nodes.second]) {
      const asked = [1, 2].map(() => node.call("GET", `/v2/${nodes.endpoint}/slow`));
      await nodes.reached(2);
      expect(new Set(nodes.held.map(({ worker }) => worker)).size).toBe(2);
      await Promise.all(nodes.held.map((held) => answerLast(held, "")));
      for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200);
      nodes.held.length = 0;
      await nodes.pass(2);
    }
  });

  test("one that only the other node sends requests to is shown as running, and does not end", async () => {
    await using nodes = await setupNodes({ workers: { max: 1, idleTimeout: 5 } });
    const asked = nodes.ask("/slow");
    await nodes.reached(1);
    await nodes.pass(30);
    for (const node of [nodes.first, nodes.second]) {
      const { json } = await node.call("GET", `/v2/serverless/${nodes.endpoint}/workers`);
      expect(json.workers).toMatchObject([{ status: "RUNNING" }]);
    }
    await answerLast(nodes.held[0]!, "done");
    expect((await asked).text).toBe("done");
    await nodes.pass(30);
    expect(nodes.first.running()).toHaveLength(0);
  });

  test("an idle one can be told to thaw by a request through the other node that insists on it", async () => {
    await using nodes = await setupNodes({ flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 5 } });
    const first = nodes.ask("/slow");
    await nodes.reached(1);
    const { worker } = nodes.held[0]!;
    await answerLast(nodes.held[0]!, "");
    await first;
    await nodes.pass(30);
    expect(nodes.first.compute.instance(worker).view().state).toBe("frozen");
    const headers = { "X-Runpod-Worker-Id": `strict-resume ${worker}` };
    const asked = nodes.ask("/quick", { headers });
    expect(await asked).toMatchObject({ status: 200, text: worker });
  });
});

describe("a worker that is not well", () => {
  test("gets nothing from the other node either, until its own node finds it well", async () => {
    await using nodes = await setupNodes({ workers: { max: 1, idleTimeout: 60 } });
    const { text: worker } = await nodes.ask();
    nodes.answerHealth(500);
    await nodes.pass(16);
    const asked = nodes.ask();
    await nodes.second.clock.armed(WAIT_FOR_ANY_MS);
    nodes.answerHealth(200);
    await nodes.pass(3);
    expect(await asked).toMatchObject({ status: 200, text: worker });
  });

  test("and ends in mid request: 502, and the next request starts another", async () => {
    await using nodes = await setupNodes();
    const asked = nodes.ask("/slow");
    await nodes.reached(1);
    const { worker } = nodes.held[0]!;
    nodes.first.running()[0]!.instance.exit({ code: 7 });
    const { status, json } = await asked;
    expect([status, json.error]).toEqual([502, expect.stringContaining(`worker ${worker} `)]);
    const next = nodes.ask();
    await nodes.pass(30);
    expect((await next).text).not.toBe(worker);
  });
});

describe("a node that is gone", () => {
  test("is sent nothing more: requests wait for other workers, and are told that there are none", async () => {
    const nodes = await setupNodes();
    const { text: worker } = await nodes.ask();
    await nodes.pass(2);
    await nodes.first.abandon();
    await using _ = nodes.second;
    const asked = nodes.ask();
    // Until the node counts as gone, its worker is tried again and again, since the node may come back.
    const answered = asked.then(() => true);
    while (!(await Promise.race([answered, nodes.pass(1).then(() => false)])));
    expect((await asked).json.error).toBe("no workers available");
    const headers = { "X-Runpod-Worker-Id": `strict ${worker}` };
    expect((await nodes.ask("/quick", { headers })).json.error).toBe("affinity_worker_gone");
  });

  test("and ended in good order is sent nothing any more", async () => {
    const nodes = await setupNodes();
    const { text: worker } = await nodes.ask();
    await nodes.first[Symbol.asyncDispose]();
    await using _ = nodes.second;
    const headers = { "X-Runpod-Worker-Id": `strict ${worker}` };
    expect((await nodes.ask("/quick", { headers })).json.error).toBe("affinity_worker_gone");
  });
});
