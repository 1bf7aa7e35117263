/** The worker library against a whole server in the same process: the client reads what the handler returned. */
import { describe, expect, test } from "vitest";
import { type EndpointWorld, setupEndpoint } from "../../platform/tests/endpoint-world.ts";
import type { Clock } from "./clock.ts";
import type { Run } from "./handler.ts";
import { type StartOptions, start, type Worker } from "./main.ts";

/** A world whose endpoint has one worker with this handler. Both end with the test. */
async function working(options: Partial<StartOptions> & Pick<StartOptions, "handler">) {
  const world = await setupEndpoint();
  const worker = await startIn(world, options);
  return {
    ...world,
    worker,
    async [Symbol.asyncDispose]() {
      await worker.stop();
      await world[Symbol.asyncDispose]();
    },
  };
}

async function startIn(world: EndpointWorld, options: StartOptions): Promise<Worker> {
  const log = (message: string) => void world.logged.push(message);
  return start({ env: await world.workerVariables(), signals: false, args: [], log, ...options });
}

const runsync = (world: EndpointWorld, input: object) => world.invoke("POST", "/runsync", { body: { input } });

async function outcome(options: Parameters<typeof working>[0], input: object = {}) {
  await using world = await working(options);
  return (await runsync(world, input)).json;
}

describe("what a handler gives is what the client reads:", () => {
  test("a plain value", async () => {
    const { status, output } = await outcome({ handler: ({ input }) => ({ double: Number(input.n) * 2 }) }, { n: 21 });
    expect([status, output]).toEqual(["COMPLETED", { double: 42 }]);
  });

  test.each([["text"], [0], [false], [[1, 2]]])("%j, which is no object", async (value) => {
    const { status, output } = await outcome({ handler: () => value });
    expect([status, output]).toEqual(["COMPLETED", value]);
  });

  test("nothing at all", async () => {
    const answer = await outcome({ handler: () => undefined });
    expect(answer.status).toBe("COMPLETED");
    expect(answer).not.toHaveProperty("output");
  });

  test("a promise's value, with letters of every kind", async () => {
    const { output } = await outcome({ handler: async ({ input }) => input }, { text: "zwölf Boxkämpfer\n😀" });
    expect(output).toEqual({ text: "zwölf Boxkämpfer\n😀" });
  });

  test("what it throws, as type, message and place", async () => {
    const { status, error } = await outcome({
      handler: () => {
        throw new TypeError("no model");
      },
    });
    expect(status).toBe("FAILED");
    expect(JSON.parse(error)).toMatchObject({ error_type: "TypeError", error_message: "no model" });
    expect(JSON.parse(error).error_traceback).toContain("worker.test.ts");
  });

  test("what its promise is rejected with, even when that is no Error", async () => {
    const { status, error } = await outcome({ handler: () => Promise.reject("just text") });
    expect([status, JSON.parse(error).error_message]).toEqual(["FAILED", "just text"]);
  });

  test("an error that it returns, beside the rest of its output", async () => {
    const answer = await outcome({ handler: () => ({ error: "too dark", seen: 3 }) });
    expect(answer).toMatchObject({ status: "FAILED", error: "too dark", output: { seen: 3 } });
  });

  test("a value that JSON cannot hold, as a failure that says so", async () => {
    const { status, error } = await outcome({ handler: () => ({ big: 1n }) });
    expect([status, JSON.parse(error).error_message]).toEqual(["FAILED", expect.stringContaining("BigInt")]);
  });

  test("an output of one megabyte, which travels alone", async () => {
    const { status, output } = await outcome({ handler: () => "x".repeat(1_048_576) });
    expect([status, output.length]).toEqual(["COMPLETED", 1_048_576]);
  });

  test("an output over 20 MB, which the server keeps behind a link", async () => {
    const { status, output } = await outcome({ handler: () => "x".repeat(21 * 1_048_576) });
    expect([status, output]).toEqual(["COMPLETED", { url: expect.any(String), bytes: 21 * 1_048_576 + 2 }]);
  });

  test("the values of a generator, gathered when that is asked for", async () => {
    const handler = async function* () {
      yield "a";
      yield { b: 1 };
    };
    expect((await outcome({ handler, aggregate: true })).output).toEqual(["a", { b: 1 }]);
    expect((await outcome({ handler })).output).toEqual([]);
  });

  test("a generator that is not async streams as well", async () => {
    const handler = function* () {
      yield 1;
      yield 2;
    };
    expect((await outcome({ handler, aggregate: true })).output).toEqual([1, 2]);
  });

  test("a generator's error, thrown or yielded", async () => {
    const throws = async function* () {
      yield 1;
      throw new Error("in mid stream");
    };
    const yields = async function* () {
      yield { error: "no more" };
    };
    const thrown = await outcome({ handler: throws });
    expect([thrown.status, JSON.parse(thrown.error).error_message]).toEqual(["FAILED", "in mid stream"]);
    const yielded = await outcome({ handler: yields });
    expect([yielded.status, JSON.parse(yielded.error).error_message]).toEqual(["FAILED", "no more"]);
  });
});

describe("while jobs run:", () => {
  test("as many run at once as concurrency says, and no more", async () => {
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const handler = async () => {
      most = Math.max(most, ++running);
      if (running === 3) full.resolve();
      await full.promise;
      running--;
    };
    await using world = await working({ handler, concurrency: 3 });
    const answers = await Promise.all(Array.from({ length: 9 }, () => runsync(world, {})));
    expect(answers.map(({ json }) => json.status)).toEqual(Array(9).fill("COMPLETED"));
    expect(most).toBe(3);
  });

  test("two hundred jobs submitted at once each end once", async () => {
    const seen: unknown[] = [];
    const handler = ({ input }: { input: Record<string, unknown> }) => {
      seen.push(input.n);
      return input.n;
    };
    await using world = await working({ handler, concurrency: 16 });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => runsync(world, { n })));
    expect(answers.map(({ json }) => json.output)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    expect(seen.length).toBe(200);
  });

  test("the newest progress is the output in /status", async () => {
    const go = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const handler = async (_job: unknown, run: Run) => {
      run.progress({ percent: 10 });
      run.progress({ percent: 50 });
      told.resolve();
      await go.promise;
      return "done";
    };
    await using world = await working({ handler });
    const { id } = (await world.invoke("POST", "/run", { body: { input: {} } })).json;
    await told.promise;
    // Progress is sent in the background, so a client can only ask until it is there.
    const shown = await until(async () => {
      const { json } = await world.invoke("GET", `/status/${id}`);
      return json.output && json;
    });
    expect(shown).toMatchObject({ status: "IN_PROGRESS", output: { percent: 50 } });
    go.resolve();
    const { json } = await world.invoke("GET", `/status-sync/${id}`);
    expect(json).toMatchObject({ status: "COMPLETED", output: "done" });
  });

  test("a cancelled job's signal aborts, and the worker goes on with the next job", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<string>();
    const handler = async ({ input }: { input: Record<string, unknown> }, { signal }: Run) => {
      if (input.quick) return "quick";
      begun.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))).catch((reason) =>
        aborted.resolve((reason as Error).message),
      );
      return "nobody wants this";
    };
    await using world = await working({ handler });
    const { id } = (await world.invoke("POST", "/run", { body: { input: {} } })).json;
    await begun.promise;
    await world.invoke("POST", `/cancel/${id}`);
    expect(await aborted.promise).toBe(`job ${id} was stopped`);
    expect((await runsync(world, { quick: true })).json.output).toBe("quick");
    expect((await world.invoke("GET", `/status/${id}`)).json).toMatchObject({ status: "CANCELLED" });
  });

  test("a job in the ping's list is not taken for lost", async () => {
    const go = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const handler = () => {
      begun.resolve();
      return go.promise;
    };
    const clock = new SteppedClock();
    await using world = await working({ handler, clock });
    const ended = runsync(world, {});
    await begun.promise;
    // Each pause begins when the previous ping was answered.
    for (let pings = 0; pings < 3; pings++) (await clock.pause(10_000))();
    await clock.pause(10_000);
    go.resolve("kept");
    const { json } = await ended;
    expect(json).toMatchObject({ status: "COMPLETED", output: "kept" });
    expect(json).not.toHaveProperty("retries");
  });
});

describe("the worker's end:", () => {
  test("it finishes what runs, reports it, and takes nothing more", async () => {
    const go = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let calls = 0;
    const handler = async () => {
      calls++;
      begun.resolve();
      await go.promise;
      return "finished";
    };
    await using world = await setupEndpoint();
    const worker = await startIn(world, { handler });
    const first = runsync(world, {});
    await begun.promise;
    const stopped = worker.stop();
    const later = await world.invoke("POST", "/run", { body: { input: {} } });
    go.resolve();
    await stopped;
    expect((await first).json).toMatchObject({ status: "COMPLETED", output: "finished" });
    expect((await world.invoke("GET", `/status/${later.json.id}`)).json.status).toBe("IN_QUEUE");
    expect(calls).toBe(1);
    expect(await worker.ended).toBe(0);
  });

  test("an idle worker ends at once, and no job goes to it any more", async () => {
    await using world = await setupEndpoint();
    const first = await startIn(world, { handler: () => "first" });
    expect((await runsync(world, {})).json.output).toBe("first");
    await first.stop();
    const second = await startIn(world, { handler: () => "second" });
    expect((await runsync(world, {})).json.output).toBe("second");
    await second.stop();
  });

  test("after a job that asks for a refresh it ends by itself", async () => {
    await using world = await setupEndpoint();
    const worker = await startIn(world, { handler: () => ({ value: 1, refresh_worker: true }) });
    expect((await runsync(world, {})).json.output).toEqual({ value: 1 });
    expect(await worker.ended).toBe(0);
  });

  test("with refreshWorker it ends after the first job", async () => {
    await using world = await setupEndpoint();
    const worker = await startIn(world, { handler: () => "once", refreshWorker: true });
    expect((await runsync(world, {})).json.output).toBe("once");
    expect(await worker.ended).toBe(0);
  });

  test("a worker that is not fit takes nothing, says why, and ends with 1", async () => {
    await using world = await setupEndpoint();
    const fitness = { disk: () => true, model: () => Promise.reject(new Error("model.bin is missing")) };
    const worker = await startIn(world, { handler: () => "never", fitness });
    expect(await worker.ended).toBe(1);
    process.exitCode = undefined;
    expect(world.logged.join("\n")).toMatch(/not fit to work.*model\.bin is missing/s);
    const { json } = await world.invoke("GET", "/health");
    expect(json.workers).toMatchObject({ idle: 0, running: 0 });
  });
});

test("a concurrency that makes no sense is refused", () => {
  for (const concurrency of [0, 501, 1.5]) {
    expect(() => start({ handler: () => 1, concurrency, env: {}, args: [] })).toThrow("from 1 to 500");
  }
});

/** A clock whose pauses last until the test ends them. */
class SteppedClock implements Clock {
  readonly #pauses: { delayMs: number; end: () => void }[] = [];
  #heard = () => {};

  monotonic(): number {
    return 0;
  }

  after(delayMs: number, end: () => void) {
    this.#pauses.push({ delayMs, end });
    this.#heard();
    return { cancel: () => undefined };
  }

  /** Waits for the next pause of this length and returns a function that ends it. */
  async pause(delayMs: number): Promise<() => void> {
    for (;;) {
      const found = this.#pauses.findIndex((pause) => pause.delayMs === delayMs);
      if (found >= 0) return this.#pauses.splice(found, 1)[0]!.end;
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found) return found;
  }
}
