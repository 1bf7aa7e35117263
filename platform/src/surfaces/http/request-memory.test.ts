/** Bodies and answers in transit are counted as memory, and release it when they are gone. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { finalized } from "../../../tests/batch-world.ts";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import type { Hold } from "../../kernel/body-memory.ts";
import { turn } from "../../kernel/clock.ts";

const MB = 1024 * 1024;
const LONG = { text: "x".repeat(2 * MB) };
const LENGTH = JSON.stringify({ input: LONG }).length;

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function sent({ url }: JobWorld, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  sockets.push(socket.on("error", () => {}));
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

const requestText = (key: string, method: string, path: string, length = 0) =>
  `${method} ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\nContent-Length: ${length}\r\n\r\n`;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn();
}

/** Runs `work` while others use all the memory. */
async function inFullMemory<T>({ memory }: JobWorld, work: (full: Hold) => Promise<T>): Promise<T> {
  using full = memory.note("others", 1000 * MB);
  return await work(full);
}

/** Makes a job that ended with a long result. */
async function longResult(world: JobWorld): Promise<string> {
  const worker = await world.worker();
  const job = await world.begun(worker);
  await worker.done(job, { output: LONG.text });
  await until(() => world.memory.held === 0);
  return job;
}

test("a body that is announced has its room, for as long as its client is there", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const socket = await sent(world, requestText(world.key, "POST", `/v2/${world.endpoint}/runsync`, 20 * MB));
  await until(() => world.memory.held > 0);
  expect(world.memory.held).toBe(20 * MB);
  socket.destroy();
  await until(() => world.memory.held === 0);
});

test("an account that has announced as much as others have left waits, and is told why; another one does not", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  using _held = world.memory.note(world.owner.account, 49 * MB);
  const refused = world.invoke("POST", "/runsync", { body: { input: LONG } });
  await until(() => world.memory.waiting === 1);
  const created = await world.call("POST", "/v2/account/secrets", {
    key: await world.strangersKey(),
    body: { name: "long", value: LONG.text },
  });
  expect(created.status).toBe(201);
  await world.clock.advance(30_000);
  const { status, json, headers } = await refused;
  expect([status, headers.get("retry-after")]).toEqual([429, "5"]);
  expect(json.error).toContain("bodies and results of this account that are on their way take 49 MB");
});

test("the body of a /runsync gives its room back when the job is stored, and not when that ends", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const worker = await world.worker();
  const answer = world.invoke("POST", "/runsync", { body: { input: LONG } });
  await until(() => world.memory.held > 0);
  await until(async () => (await world.queue.counts(world.endpoint)).inQueue === 1);
  await until(() => world.memory.held === 0);
  const { id } = (await worker.take())!;
  await worker.done(id, { output: 1 });
  expect((await answer).json.output).toBe(1);
});

test("so does that of an OpenAI request", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const worker = await world.worker();
  const answer = world.invoke("POST", "/openai/v1/chat/completions", { body: LONG });
  await until(async () => (await world.queue.counts(world.endpoint)).inQueue === 1);
  await until(() => world.memory.held === 0);
  const { id } = (await worker.take())!;
  await worker.done(id, { output: [{ choices: [] }] });
  expect((await answer).status).toBe(200);
});

test.each([
  ["/status", "GET", (job: string) => `/status/${job}`],
  ["/status-sync", "GET", (job: string) => `/status-sync/${job}`],
  ["/stream", "GET", (job: string) => `/stream/${job}`],
])(
  "%s of a long result waits for its room before it is loaded, and keeps it until it was read",
  async (_name, method, path) => {
    await using world = await setupJobs({ bodiesMb: 100 });
    const job = await longResult(world);
    const socket = await inFullMemory(world, async () => {
      const socket = await sent(world, requestText(world.key, method, `/v2/${world.endpoint}${path(job)}`));
      await until(() => world.memory.waiting === 1);
      return socket;
    });
    await until(() => world.memory.held >= 2 * MB);
    socket.resume();
    await until(() => world.memory.held === 0);
  },
);

test("an answer that is not read keeps its room until its connection is closed", async () => {
  await using world = await setupJobs({ bodiesMb: 200, payloadLimits: "10,20,20" });
  const worker = await world.worker();
  const job = await world.begun(worker);
  await worker.done(job, { output: "x".repeat(15 * MB) });
  await until(() => world.memory.held === 0);
  const socket = await sent(world, requestText(world.key, "GET", `/v2/${world.endpoint}/status/${job}`));
  await until(() => world.memory.held > 0);
  await world.status(await world.submit());
  expect(world.memory.held).toBeGreaterThan(15 * MB);
  socket.destroy();
  await until(() => world.memory.held === 0);
});

test("a long result that a /runsync waited for is counted for who waits", async () => {
  await using world = await setupJobs({ bodiesMb: 200 });
  const worker = await world.worker();
  const body = '{"input":{}}';
  const path = `/v2/${world.endpoint}/runsync`;
  const socket = await sent(world, requestText(world.key, "POST", path, body.length) + body);
  const { id } = (await worker.take())!;
  await worker.done(id, { output: "x".repeat(15 * MB) });
  await until(() => world.memory.held > 15 * MB && world.memory.held < 20 * MB);
  socket.destroy();
  await until(() => world.memory.held === 0);
});

test("a job whose body finds no room goes back to the queue, and its worker is told why", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const worker = await world.worker();
  const job = await world.submit(LONG);
  await until(() => world.memory.held === 0);
  await inFullMemory(world, async () => {
    const taking = worker.ask("GET job-take");
    await until(() => world.memory.waiting === 1);
    await world.clock.advance(5000);
    const { status, json } = await taking;
    expect([status, json.error]).toEqual([503, expect.stringContaining("no memory free for 2 MB more")]);
    expect(await world.status(job)).toMatchObject({ status: "IN_QUEUE" });
  });
  expect(await worker.take()).toMatchObject({ id: job, input: LONG });
  await until(() => world.memory.held === 0);
});

test("a job whose worker hangs up while there is no room goes back at once", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const worker = await world.worker();
  const job = await world.submit(LONG);
  await until(() => world.memory.held === 0);
  await inFullMemory(world, async () => {
    const socket = await sent(
      world,
      requestText(worker.key, "GET", `/v2/${world.endpoint}/job-take/${worker.id}?gpu=none`),
    );
    await until(() => world.memory.waiting === 1);
    socket.destroy();
    await until(async () => (await world.queue.counts(world.endpoint)).inQueue === 1);
  });
  expect(await worker.take()).toMatchObject({ id: job });
});

test("a result that finds no room is never refused for good: its worker sends it again", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const worker = await world.worker();
  const job = await world.begun(worker);
  const { account } = world.owner;
  // The same holds when the account itself uses up the memory.
  for (const whose of ["others", account]) {
    using _full = world.memory.note(whose, 99 * MB);
    const done = worker.done(job, { output: LONG.text });
    await until(() => world.memory.waiting === 1);
    await world.clock.advance(30_000);
    expect(await done).toBe(503);
  }
  expect(await worker.done(job, { output: LONG.text })).toBe(200);
  expect((await world.status(job)).status).toBe("COMPLETED");
});

test("a page of a batch ends early where there is no room for more of it", async () => {
  await using world = await setupJobs({ bodiesMb: 10 });
  const worker = await world.worker();
  const { id: batch } = await finalized(world, 3);
  for (let n = 0; n < 3; n++) {
    const { id } = (await worker.take())!;
    await worker.done(id, { output: LONG.text });
  }
  await until(() => world.memory.held === 0);
  const page = async (offset: number) => {
    const { json: shown } = await world.invoke("GET", `/batch/${batch}/requests?offset=${offset}`);
    return [shown.requests.length, shown.hasMore];
  };
  expect(await page(0)).toEqual([2, true]);
  await until(() => world.memory.held === 0);
  expect(await page(2)).toEqual([1, false]);
});

test("what a client left behind while it was being read is counted until that is over", async () => {
  await using world = await setupJobs({ bodiesMb: 100 });
  const body = JSON.stringify({ input: LONG });
  const socket = await sent(world, requestText(world.key, "POST", `/v2/${world.endpoint}/run`, LENGTH) + body);
  await until(() => world.memory.held > 0);
  await until(() => socket.bytesWritten > LENGTH && socket.writableLength === 0);
  socket.destroy();
  await until(() => world.memory.held === 0);
});
