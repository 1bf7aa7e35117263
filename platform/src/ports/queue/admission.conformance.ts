/** What every Queue does before it loads long payloads: it asks for memory. */
import { expect, test } from "vitest";
import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import {
  apply,
  claim,
  fail,
  finish,
  giveBack,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  reading,
  retry,
  running,
} from "./conformance-jobs.ts";
import type { Reading } from "./queue.ts";

/** Adapters may keep payloads of these lengths inline, apart, or in files. */
const LENGTHS = [1000, 50_000, 100_000, 300_000, 1_500_000];

const bodyOf = (length: number) => `{"input":"${"x".repeat(length - 12)}"}`;

/** Admits everything it is asked for, once the test opens it. */
class Gate {
  readonly asked: number[] = [];
  readonly #opened = Promise.withResolvers<void>();
  readonly #first = Promise.withResolvers<void>();

  readonly admit: Admit = async (bytes) => {
    this.asked.push(bytes);
    this.#first.resolve();
    await this.#opened.promise;
    return { keep() {}, [Symbol.dispose]() {} };
  };

  open(): void {
    this.#opened.resolve();
  }

  untilAsked(): Promise<void> {
    return this.#first.promise;
  }
}

const refuse: Admit = () => Promise.reject(new Error("no room"));

export function admissionConformance(open: OpenQueue): void {
  test.for(LENGTHS)("bodies of %i bytes are claimed when they are admitted, all at once", async (length) => {
    await using opened = await open();
    const ids = numbered(2);
    for (const id of ids) await opened.queue.enqueue([newJob(id, { body: bodyOf(length) })]);
    const gate = new Gate();
    gate.open();
    const claimed = await claim(opened.queue, { limit: 2, admit: gate.admit });
    expect(claimed.map(({ job, body }) => [job.id, body?.length])).toEqual(ids.map((id) => [id, length]));
    expect(gate.asked).toEqual(length * 2 > UNCOUNTED_BYTES ? [length * 2] : []);
  });

  test("only what a claim gives counts, and not what did not fit", async () => {
    await using opened = await open();
    for (const id of numbered(3)) await opened.queue.enqueue([newJob(id, { body: bodyOf(300_000) })]);
    const gate = new Gate();
    gate.open();
    expect(await claim(opened.queue, { limit: 3, bytes: 700_000, admit: gate.admit })).toHaveLength(2);
    expect(gate.asked).toEqual([600_000]);
  });

  test("jobs whose bodies are not admitted come without them, and can be handed back", async () => {
    await using opened = await open();
    const ids = numbered(2);
    for (const id of ids) await opened.queue.enqueue([newJob(id, { body: bodyOf(300_000) })]);
    const claimed = await claim(opened.queue, { limit: 2, admit: refuse });
    expect(claimed.map(({ job, body }) => [job.id, job.state, body])).toEqual(
      ids.map((id) => [id, "IN_PROGRESS", undefined]),
    );
    await apply(opened.queue, giveBack("j1"), giveBack("j0"));
    const again = await claim(opened.queue, { limit: 2 });
    expect(again.map(({ job, body }) => [job.id, body?.length])).toEqual(ids.map((id) => [id, 300_000]));
  });

  test.for(LENGTHS)("parts of %i bytes are read when they are admitted", async (length) => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { body: bodyOf(length) }));
    await apply(opened.queue, finish("j1", { result: Buffer.from(bodyOf(length)) }));
    const gate = new Gate();
    gate.open();
    const { body, result } = (await opened.queue.read("j1", NOW, ["body", "result"], gate.admit)) as Reading;
    expect([body?.length, result?.length]).toEqual([length, length]);
    expect(gate.asked).toEqual(length * 2 > UNCOUNTED_BYTES ? [length * 2] : []);
  });

  test("a job without its parts, and one that is unknown, need no room", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { body: bodyOf(300_000) }));
    await apply(opened.queue, finish("j1", { result: bodyOf(300_000) }));
    expect(await opened.queue.read("j1", NOW, [], refuse)).toMatchObject({ job: { state: "COMPLETED" } });
    expect(await opened.queue.read("j1", NOW, ["progress"], refuse)).toMatchObject({ job: { state: "COMPLETED" } });
    expect(await opened.queue.read("j2", NOW, ["result"], refuse)).toBeUndefined();
  });

  test("what is refused is not read, with the reason", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, finish("j1", { result: bodyOf(300_000) }));
    await expect(opened.queue.read("j1", NOW, ["result"], refuse)).rejects.toThrow("no room");
    expect((await reading(opened.queue, "j1")).result).toHaveLength(300_000);
  });

  test.for([100_000, 300_000])("%i bytes are of the moment in which they were admitted", async (length) => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, fail("j1", { result: bodyOf(length) }));
    const gate = new Gate();
    const read = opened.queue.read("j1", NOW, ["result"], gate.admit) as Promise<Reading>;
    await gate.untilAsked();
    await apply(opened.queue, retry("j1"));
    gate.open();
    const { job, result } = await read;
    // The read may see either moment, but job and result must be of the same one.
    expect([job.state, result?.length]).toEqual(job.state === "FAILED" ? ["FAILED", length] : ["IN_QUEUE", undefined]);
  });

  test.for([100_000, 300_000])("a job that failed again is read with the %i bytes of the same end", async (length) => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, fail("j1", { result: bodyOf(length) }));
    const gate = new Gate();
    const read = opened.queue.read("j1", NOW, ["result"], gate.admit) as Promise<Reading>;
    await gate.untilAsked();
    await apply(opened.queue, retry("j1"));
    await claim(opened.queue);
    await apply(opened.queue, fail("j1", { result: bodyOf(length + 1), set: { endedAt: NOW + 1 } }));
    gate.open();
    const { job, result } = await read;
    expect([job.endedAt, result?.length]).toEqual(job.endedAt === NOW ? [NOW, length] : [NOW + 1, length + 1]);
  });
}
