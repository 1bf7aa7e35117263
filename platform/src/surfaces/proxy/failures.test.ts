/** Failures between a client and a worker, and how each side learns of them. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, test } from "vitest";
import { type BalancedWorld, setupBalanced } from "../../../tests/balanced-world.ts";
import { idle } from "../../../tests/idle.ts";
import { WAIT_FOR_ANY_MS } from "../../balancing/balancer.ts";
import { problem } from "../../kernel/problem.ts";

const MIB = 1_048_576;
const LIMIT = 30 * MIB;
const PROCESSING_MS = 330_000;
const STALL_MS = 15_000;

const mirror: RequestListener = (request, response) => void request.pipe(response);

/** Returns the body of an answer, or how it broke off. `begun` is called once the headers have arrived. */
async function bodyOf(world: BalancedWorld, path: string, begun = () => {}): Promise<string> {
  const response = await fetch(`${world.url}/v2/${world.endpoint}${path}`, { headers: { authorization: world.key } });
  begun();
  return response.text().catch((error: Error) => `broken: ${error.message}`);
}

describe("a worker that dies", () => {
  test("before it answers: 502 with the reason, from the worker that it was", async () => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", () => worker.die("out of memory: used 512 MB of 512 MB"));
    const { status, json, headers } = await world.ask("POST", "/x", { body: "y" });
    expect([status, json.error]).toEqual([502, expect.stringMatching(/^worker w1 (broke the connection|ended): /)]);
    expect(headers.get("x-runpod-worker-id")).toBe("w1");
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test("known to have ended while it was busy: 502 says how", async () => {
    await using world = await setupBalanced();
    world.worker("w1", () => world.app.balancer.remove(world.endpoint, "w1", "out of memory: used 512 MB of 512 MB"));
    const { status, json } = await world.ask("GET", "/x");
    expect([status, json.error]).toEqual([502, "worker w1 ended: out of memory: used 512 MB of 512 MB"]);
  });

  test.each([
    ["of a known length", { "content-length": "100" }],
    ["in chunks", {}],
  ])("in the middle of an answer %s: the client sees that it is not whole", async (_how, headers) => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", (_request, response) => {
      response.writeHead(200, headers);
      response.write("the beginning");
    });
    expect(await bodyOf(world, "/x", () => worker.die())).toMatch(/^broken: /);
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test("does not make another worker do the request again", async () => {
    await using world = await setupBalanced();
    let asked = 0;
    for (const id of ["w1", "w2"])
      world.worker(id, (request) => {
        asked++;
        request.socket.destroy();
      });
    expect((await world.ask("GET", "/x")).status).toBe(502);
    expect(asked).toBe(1);
  });

  describe("closes a kept connection when the next request comes", () => {
    /** Answers the first request, and closes the connection of the second without a word. */
    async function closing() {
      const world = await setupBalanced();
      const asked: string[] = [];
      world.worker("w1", (request, response) => {
        asked.push(`${request.method} ${request.url}`);
        if (asked.length === 2) request.socket.destroy();
        else response.end("here");
      });
      expect((await world.ask("GET", "/first")).text).toBe("here");
      return { world, asked, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
    }

    test.each(["GET", "HEAD"])("%s is sent once more, on a new connection", async (method) => {
      await using tried = await closing();
      expect((await tried.world.ask(method, "/x")).status).toBe(200);
      expect(tried.asked).toEqual(["GET /first", `${method} /x`, `${method} /x`]);
    });

    test.each([
      ["POST", undefined],
      ["POST", "a body"],
    ])("%s with %s is not, since it may have been done", async (method, body) => {
      await using tried = await closing();
      expect((await tried.world.ask(method, "/x", body === undefined ? {} : { body })).status).toBe(502);
      expect(tried.asked).toHaveLength(2);
    });
  });

  test("between two requests is not asked on its old connection", async () => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", mirror);
    await world.ask("POST", "/x", { body: "y" });
    const [connection] = worker.open;
    const closed = new Promise((resolve) => connection!.once("close", resolve));
    world.app.balancer.freeze(world.endpoint, "w1");
    await closed;
    expect(worker.open.size).toBe(0);
  });
});

/** Adds a worker that counts as ready but accepts no connection. `doubted` is called for each refused connection. */
function deafWorker({ app: { balancer }, endpoint }: BalancedWorld, doubted = () => {}): void {
  const dial = () => Promise.reject(new Error("nobody listens on port 80 of deaf"));
  balancer.add(endpoint, { worker: "deaf", dial, doubted });
  balancer.ready(endpoint, "deaf");
}

describe("a worker that does not listen", () => {
  test("what it refuses goes to another one, and nothing comes to it until it is well", async () => {
    await using world = await setupBalanced();
    let doubted = 0;
    deafWorker(world, () => doubted++);
    world.worker("fit", mirror);
    for (const body of ["first", "second", "third"]) {
      const { text, headers } = await world.ask("POST", "/x", { body });
      expect([text, headers.get("x-runpod-worker-id")]).toEqual([body, "fit"]);
    }
    expect(doubted).toBe(1);
    expect(world.app.balancer.demand(world.endpoint)).toMatchObject({ waiting: 0, inFlight: 0 });
  });

  test("the whole of a large body goes to the other one", async () => {
    await using world = await setupBalanced();
    deafWorker(world);
    world.worker("fit", mirror);
    const body = Buffer.alloc(5 * MIB, "mill");
    const { text } = await world.ask("POST", "/x", { body });
    expect(text === body.toString()).toBe(true);
  });

  test("without another one the request waits until it is well", async () => {
    await using world = await setupBalanced();
    const refused = Promise.withResolvers<void>();
    deafWorker(world, refused.resolve);
    const asked = world.ask("POST", "/x", { body: "y" });
    await refused.promise;
    await world.clock.armed(WAIT_FOR_ANY_MS);
    world.worker("fit", mirror);
    expect((await asked).text).toBe("y");
  });

  test("the wait ends when it would have ended without the refusal, with the reason", async () => {
    await using world = await setupBalanced();
    const { clock } = world;
    const asked = world.ask("GET", "/x");
    await clock.armed(WAIT_FOR_ANY_MS);
    await clock.advance(WAIT_FOR_ANY_MS - 1000);
    const refused = Promise.withResolvers<void>();
    deafWorker(world, refused.resolve);
    await refused.promise;
    await clock.armed(1000);
    await clock.advance(1000);
    const { status, json } = await asked;
    expect([status, json.error]).toEqual([400, "no workers available"]);
    expect(json.message).toContain("worker deaf: it refused a connection");
  });

  test("502 with the reason when it refuses again although it was said to be well", async () => {
    await using world = await setupBalanced();
    deafWorker(world, () => setImmediate(() => world.app.balancer.ready(world.endpoint, "deaf")));
    const { status, json } = await world.ask("GET", "/x");
    expect([status, json.error]).toEqual([
      502,
      "worker deaf refused the connection: nobody listens on port 80 of deaf",
    ]);
  });

  test("one whose node is away is asked again until that is back: the request was not sent", async () => {
    await using world = await setupBalanced();
    const { balancer } = world.app;
    const fit = world.worker("fit", mirror, { ready: false });
    let tries = 0;
    const dial = async () => {
      if (++tries < 4) throw problem("no-answer", "node n is not reachable: ECONNREFUSED");
      return connect((fit.server.address() as AddressInfo).port);
    };
    balancer.add(world.endpoint, { worker: "away", dial });
    balancer.ready(world.endpoint, "away");
    const asked = world.ask("POST", "/x", { body: "y" });
    for (let looks = 1; looks < 4; looks++) {
      await world.clock.armed(250);
      await world.clock.advance(250);
    }
    expect([(await asked).text, tries]).toEqual(["y", 4]);
  });

  test("502 for one that does not speak HTTP", async () => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", mirror);
    worker.server.removeAllListeners("connection");
    worker.server.on("connection", (socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    const { status, json } = await world.ask("GET", "/x");
    expect([status, json.error]).toEqual([502, expect.stringContaining("worker w1 broke the connection: ")]);
  });
});

describe("30 MB", () => {
  test("a request announced as larger is refused before a worker is looked for", async () => {
    await using world = await setupBalanced();
    const head = `POST /v2/${world.endpoint}/x HTTP/1.1\r\nHost: h\r\nAuthorization: ${world.key}\r\nConnection: close\r\n`;
    const answer = await world.raw(`${head}Content-Length: ${LIMIT + 1}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 413/);
    expect(answer).toContain("larger than the limit of 30 MB (31457280 bytes)");
  });

  test("a request that turns out larger is refused on its way, and the worker sees it break off", async () => {
    await using world = await setupBalanced();
    const broken = Promise.withResolvers<void>();
    world.worker("w1", (request) => void request.resume().once("aborted", broken.resolve));
    async function* endless() {
      for (let i = 0; i <= 30; i++) yield Buffer.alloc(MIB);
    }
    const response = await fetch(`${world.url}/v2/${world.endpoint}/x`, {
      method: "POST",
      headers: { authorization: world.key },
      body: ReadableStream.from(endless()),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    await broken.promise;
  });

  test("an answer announced as larger is 502 with the reason", async () => {
    await using world = await setupBalanced();
    world.worker(
      "w1",
      (_request, response) => void response.writeHead(200, { "content-length": LIMIT + 1 }).flushHeaders(),
    );
    const { status, json } = await world.ask("GET", "/x");
    expect([status, json.error]).toEqual([502, "the answer of worker w1 is larger than the limit of 30 MB"]);
  });

  test("an answer that turns out larger is cut off", async () => {
    await using world = await setupBalanced();
    world.worker("w1", async (_request, response) => {
      for (let i = 0; i <= 30 && !response.destroyed; i++) response.write(Buffer.alloc(MIB));
      response.end();
    });
    expect(await bodyOf(world, "/x")).toMatch(/^broken: /);
  });

  test("exactly that much passes both ways", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    const { status, text } = await world.ask("POST", "/x", { body: Buffer.alloc(LIMIT, "x") });
    expect([status, text.length]).toEqual([200, LIMIT]);
  });
});

describe("5.5 minutes", () => {
  test("504 for a worker that has not answered by then, which sees its client go", async () => {
    await using world = await setupBalanced();
    const gone = Promise.withResolvers<void>();
    world.worker("w1", (_request, response) => void response.once("close", gone.resolve));
    const asked = world.ask("GET", "/x");
    await world.clock.armed(PROCESSING_MS);
    await world.clock.advance(PROCESSING_MS);
    const { status, json } = await asked;
    expect([status, json.error]).toEqual([504, "worker w1 did not finish the request within 5.5 minutes"]);
    await gone.promise;
  });

  test("an answer that is still going on then is cut off", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (_request, response) => void response.write("on and on"));
    const read = bodyOf(world, "/x");
    await world.clock.armed(PROCESSING_MS);
    await world.clock.advance(PROCESSING_MS);
    expect(await read).toMatch(/^broken: /);
  });

  test("no timer is left after an answer", async () => {
    const world = await setupBalanced();
    world.worker("w1", mirror);
    await world.ask("POST", "/x", { body: "y" });
    await world.clock.disarmed(PROCESSING_MS);
    await world[Symbol.asyncDispose]();
    expect(world.clock.waiting).toBe(0);
  });
});

describe("a client that goes away", () => {
  test("while the worker thinks: the worker sees it, and is free", async () => {
    await using world = await setupBalanced();
    const [begun, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.worker("w1", (_request, response) => {
      response.once("close", gone.resolve);
      begun.resolve();
    });
    const client = world.begin("GET", "/x");
    await begun.promise;
    client.destroy();
    await gone.promise;
    await world.clock.disarmed(PROCESSING_MS);
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test("in the middle of its upload: the worker does not take it for the whole", async () => {
    await using world = await setupBalanced();
    const [begun, broken] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
    world.worker("w1", (request) => {
      request.once("data", () => begun.resolve());
      request.once("close", () => broken.resolve(!request.complete));
      request.on("error", () => {});
    });
    const client = world.begin("POST", "/x", ["Content-Length: 1000"]);
    client.write("the beginning");
    await begun.promise;
    client.destroy();
    expect(await broken.promise).toBe(true);
  });
});

describe("a body of which nothing more comes", () => {
  test("is given up after 15 s: 408, and the worker sees it break off", async () => {
    await using world = await setupBalanced();
    const [begun, broken] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
    world.worker("w1", (request) => {
      request.once("data", () => begun.resolve());
      request.once("close", () => broken.resolve(!request.complete));
      request.on("error", () => {});
    });
    const client = world.begin("POST", "/x", ["Content-Length: 1000", "Connection: close"]);
    client.write("the beginning");
    await begun.promise;
    await world.clock.armed(STALL_MS);
    await world.clock.advance(STALL_MS);
    expect(await broken.promise).toBe(true);
    const [answer] = await once(client.setEncoding("latin1"), "data");
    expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*The request body stalled for 15 seconds/);
    client.destroy();
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test("may be waited for once the worker answers: the two may take turns", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (request, response) => void request.pipe(response));
    const client = world.begin("POST", "/x", ["Transfer-Encoding: chunked", "Connection: close"]).setEncoding("latin1");
    const heard = async (words: string) => {
      for (let text = ""; !text.includes(words); ) text += (await once(client, "data"))[0];
    };
    client.write("5\r\nfirst\r\n");
    await heard("first");
    await world.clock.armed(STALL_MS);
    await world.clock.advance(STALL_MS);
    client.write("6\r\nsecond\r\n0\r\n\r\n");
    await heard("second");
    client.destroy();
  });

  test("is the worker's to wait for while the worker itself takes nothing", async () => {
    await using world = await setupBalanced();
    const taken = Promise.withResolvers<void>();
    const app: RequestListener = (request, response) => void taken.promise.then(() => request.pipe(response));
    // With a real socket, the system would buffer what the worker does not read.
    world.worker("w1", app, { over: "streams" });
    const body = Buffer.alloc(MIB, "mill");
    const asked = world.ask("POST", "/x", { body });
    await world.clock.armed(PROCESSING_MS);
    await idle();
    await world.clock.advance(STALL_MS);
    taken.resolve();
    expect((await asked).text.length).toBe(body.length);
  });
});

test("the proxy dials and does nothing else: a worker that redirects to another server is not followed", async () => {
  await using world = await setupBalanced();
  let reached = false;
  const other = createServer((_request, response) => {
    reached = true;
    response.end();
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
  world.worker("w1", (_request, response) => void response.writeHead(302, { location }).end());
  const response = await fetch(`${world.url}/v2/${world.endpoint}/x`, {
    headers: { authorization: world.key },
    redirect: "manual",
  });
  expect([response.status, response.headers.get("location"), reached]).toEqual([302, location, false]);
  other.close();
});
