/** A job whose credential was sealed with a lost key fails at once, and does not hold up others. */
import { expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { SeededRandom } from "../../kernel/random.ts";

/** Makes a job from before the master key was replaced. */
async function lostJob(world: JobWorld): Promise<string> {
  const random = new SeededRandom(7);
  const vault = new EnvelopeVault([random.bytes(32)], random);
  const accessSecret = await vault.seal("secret", "s3Config.accessSecret");
  const policy = {
    ttlMs: 60_000,
    executionTimeoutMs: 60_000,
    retentionMs: 60_000,
    errorRetries: 0,
    lowPriority: false,
  };
  const body = JSON.stringify({ input: {}, s3Config: { accessSecret } });
  const job = {
    id: "lost",
    endpoint: world.endpoint,
    policy,
    createdAt: world.clock.now(),
    body,
    sealed: true,
  } as const;
  await world.queue.enqueue([job]);
  return job.id;
}

const failed = {
  status: "FAILED",
  errorCode: "credential-lost",
  error: expect.stringMatching(
    /^s3Config\.accessSecret can no longer be decrypted: the master key '\w+' .* not known here$/,
  ),
};

test("a job whose credential can no longer be opened fails at the first take, with the reason", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await lostJob(world);
  expect(await worker.take()).toBeUndefined();
  expect(await world.status(id)).toMatchObject(failed);
  expect((await world.invoke("GET", "/health")).json.jobs).toMatchObject({ failed: 1, retried: 0, inProgress: 0 });
});

test("whoever waits for it is told, and the worker is not told to stop what it never got", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const waiting = world.invoke("GET", `/status-sync/${await lostJob(world)}`);
  await world.clock.armed(90_000);
  await worker.take();
  expect((await waiting).json).toMatchObject(failed);
  const stops = worker.ask("GET job-stop");
  await world.clock.armed(25_000);
  await world.clock.advance(25_000);
  expect((await stops).status).toBe(204);
});

test.each([
  ["job-take-batch", "GET", "&batch_size=3"],
  ["job-exchange", "POST", "&take=3"],
])("%s hands out the jobs beside it", async (operation, method, query) => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const before = await world.submit();
  const lost = await lostJob(world);
  const after = await world.submit();
  const { text } = await worker.ask(`${method} ${operation}`, { query });
  expect([before, lost, after].map((id) => text.includes(id))).toEqual([true, false, true]);
  expect(await world.status(lost)).toMatchObject(failed);
});

test("a credential in a long body is sealed and opened, those that another one hides are emptied, and all else stays as it came", async () => {
  await using world = await setupJobs();
  const text = "ü".repeat(300_000);
  const long = `{"input":{"n":1.00,"text":"${text}"},"s3Config":{"accessSecret":"first"},"s3Config":{"accessSecret":"gehéim"}}`;
  const { json } = await world.invoke("POST", "/run", { body: long });
  const stored = await world.queue.read(json.id, world.clock.now(), ["body"]);
  expect(typeof stored === "object" && Buffer.from(stored.body!).includes("gehéim")).toBe(false);
  const worker = await world.worker();
  const taken = await worker.ask("GET job-take");
  const own = `,"id":"${json.id}"}`;
  expect(taken.text === `${long.replace("first", "").slice(0, -1)}${own}`).toBe(true);
});

test.each([0, 300_000])("a body of %i characters that repeats its credential to grow is refused", async (length) => {
  await using world = await setupJobs();
  const many = Array.from({ length: 17 }, () => '"accessSecret":"x"').join(",");
  const body = `{"input":{"text":"${"x".repeat(length)}"},"s3Config":{${many}}}`;
  const { status, text } = await world.invoke("POST", "/run", { body });
  expect([status, text]).toEqual([400, expect.stringContaining("is given 17 times; give it once")]);
});

test("a body does not grow by naming its credential again and again", async () => {
  await using world = await setupJobs();
  const short = '"accessSecret":"x",'.repeat(15);
  const body = `{"input":{},"s3Config":{${short}"accessSecret":"${"x".repeat(60_000)}"}}`;
  const { json } = await world.invoke("POST", "/run", { body });
  const stored = await world.queue.read(json.id, world.clock.now(), ["body"]);
  expect(typeof stored === "object" && stored.body!.length).toBeLessThan(2 * body.length);
});

test.each(["/run", "/batch"])("%s refuses a credential that is longer than any", async (path) => {
  await using world = await setupJobs();
  const request = `{"input":{},"s3Config":{"accessSecret":"${"x".repeat(64 * 1024)}"}}`;
  const { status, text } = await world.invoke("POST", path, { body: path === "/batch" ? `[${request}]` : request });
  expect([status, text]).toEqual([400, expect.stringContaining("is longer than 65536 characters")]);
});
