/** What every Queue guarantees when sealed credentials in bodies are wrapped with another key. */
import { expect, test } from "vitest";
import {
  apply,
  claim,
  fail,
  finish,
  newJob,
  numbered,
  type OpenQueue,
  reading,
  retry,
  text,
} from "./conformance-jobs.ts";

const SIZES: [string, number][] = [
  ["a few bytes", 0],
  ["10 KB", 10_000],
  ["40 KB", 40_000],
  ["400 KB", 400_000],
  ["3 MB", 3_000_000],
];

const bodyOf = (word: string, length: number) => `{"word":"${word}","filling":"${"ü".repeat(length / 2)}"}`;

const replaced = (body: Parameters<typeof text>[0]) => text(body)!.replace('"old"', '"new"');

export function resealConformance(open: OpenQueue): void {
  test.each(SIZES)("a body of %s is replaced, and a worker gets the new one", async (_, length) => {
    await using opened = await open();
    for (const form of ["text", "bytes"]) {
      const body = form === "text" ? bodyOf("old", length) : Buffer.from(bodyOf("old", length));
      await opened.queue.enqueue([newJob(form, { sealed: true, body })]);
    }
    expect(await opened.queue.reseal(replaced)).toBe(2);
    for (const form of ["text", "bytes"]) {
      expect(text((await reading(opened.queue, form)).body) === bodyOf("new", length)).toBe(true);
      const [claimed] = await claim(opened.queue);
      expect(claimed!.job.id).toBe(form);
      expect(text(claimed!.body) === bodyOf("new", length)).toBe(true);
    }
  });

  test("a body may grow out of its place and shrink back into it", async () => {
    await using opened = await open();
    await opened.queue.enqueue([newJob("j1", { sealed: true, body: bodyOf("a", 0) })]);
    for (const length of [400_000, 10, 40_000, 10_000, 3_000_000, 0]) {
      expect(await opened.queue.reseal(() => bodyOf("b", length))).toBe(1);
      expect(text((await reading(opened.queue, "j1")).body) === bodyOf("b", length)).toBe(true);
    }
  });

  test("jobs without a sealed credential are not shown, and what is left alone stays", async () => {
    await using opened = await open();
    await opened.queue.enqueue([newJob("open"), newJob("left", { sealed: true }), newJob("taken", { sealed: true })]);
    const seen: string[] = [];
    const changed = await opened.queue.reseal((body, id) => {
      seen.push(id);
      return id === "taken" ? `{"was":${text(body)}}` : undefined;
    });
    expect([changed, seen.toSorted()]).toEqual([1, ["left", "taken"]]);
    expect((await reading(opened.queue, "left")).body).toBe(newJob("left").body);
    expect((await reading(opened.queue, "open")).body).toBe(newJob("open").body);
    expect((await reading(opened.queue, "taken")).body).toBe(`{"was":${newJob("taken").body}}`);
  });

  test("running and ended jobs are shown too, since they can run again", async () => {
    await using opened = await open();
    const ids = ["completed", "failed", "running", "waiting"];
    await opened.queue.enqueue(ids.map((id) => newJob(id, { sealed: true, body: bodyOf("old", 10) })));
    await claim(opened.queue, { limit: 3 });
    await apply(opened.queue, finish("completed"), fail("failed"));
    expect(await opened.queue.reseal(replaced)).toBe(4);
    for (const id of ids) expect((await reading(opened.queue, id)).body).toBe(bodyOf("new", 10));
    await apply(opened.queue, retry("failed"));
    const claimed = await claim(opened.queue, { limit: 9 });
    expect(claimed.map(({ job, body }) => [job.id, body])).toEqual([
      ["waiting", bodyOf("new", 10)],
      ["failed", bodyOf("new", 10)],
    ]);
  });

  test("many are shown once each, and the new bodies are there after a restart", async (context) => {
    await using opened = await open();
    const ids = numbered(250);
    await opened.queue.enqueue(ids.map((id) => newJob(id, { sealed: true, body: bodyOf("old", 10) })));
    const seen: string[] = [];
    const changed = await opened.queue.reseal((body, id) => {
      seen.push(id);
      return replaced(body);
    });
    expect(changed).toBe(ids.length);
    expect(seen.toSorted()).toEqual(ids);
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    const claimed = await claim(await opened.reopen(), { limit: 999 });
    expect(claimed.filter(({ body }) => body === bodyOf("new", 10))).toHaveLength(ids.length);
  });

  test("a refusal of one leaves the others of other slices changed, and all of them whole", async () => {
    await using opened = await open();
    const ids = numbered(250);
    await opened.queue.enqueue(ids.map((id) => newJob(id, { sealed: true, body: bodyOf("old", 10) })));
    const breaking = opened.queue.reseal((body, id) => {
      if (id === "j220") throw new Error("broken off");
      return replaced(body);
    });
    await expect(breaking).rejects.toThrow("broken off");
    expect((await reading(opened.queue, "j000")).body).toBe(bodyOf("new", 10));
    expect((await reading(opened.queue, "j220")).body).toBe(bodyOf("old", 10));
    await opened.queue.reseal(replaced);
    for (const id of ids) expect((await reading(opened.queue, id)).body).toBe(bodyOf("new", 10));
  });
}
