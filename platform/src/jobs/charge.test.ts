/** What a job on a shared endpoint costs, and where its tokens are found. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { tokensIn } from "./charge.ts";

const usage = { prompt_tokens: 7, completion_tokens: 9 };
const found = { inputTokens: 7, outputTokens: 9 };
const none = { inputTokens: 0, outputTokens: 0 };

test.each([
  ["OpenAI's form", { output: { usage } }, found],
  ["the form of the public worker", { output: [{ usage: { input: 7, output: 9 } }] }, found],
  ["lists within lists", { output: [[{ usage }]] }, found],
  ["the largest of a stream", { output: [{ usage: { prompt_tokens: 7, completion_tokens: 1 } }, { usage }] }, found],
  [
    "lines of events",
    { output: [`data: {"a":1}\n\n`, `data: ${JSON.stringify({ usage })}\n\ndata: [DONE]\n\n`] },
    found,
  ],
  ["nothing", { output: { text: "usage" } }, none],
  ["what is no number", { output: { usage: { prompt_tokens: "7", completion_tokens: -9 } } }, none],
  ["a number that no model reaches", { output: { usage: { prompt_tokens: 1e15, completion_tokens: 1.5 } } }, none],
  ["too deep", { output: [[[[[{ usage }]]]]] }, none],
])("tokens in %s", (_, result, tokens) => {
  expect(tokensIn(JSON.stringify(result))).toEqual(tokens);
  expect(tokensIn(Buffer.from(JSON.stringify(result)))).toEqual(tokens);
});

test("a long result is not searched", () => {
  expect(tokensIn(JSON.stringify({ output: { usage, text: "x".repeat(2_000_000) } }))).toEqual(none);
});

test("a job that begins while it is being cancelled pays for the time that it ran", async () => {
  const { engine, desk, queue, clock } = await jobWorld();
  const nothing = { perRequest: 0, perMillionInputTokens: 0, perMillionOutputTokens: 0 };
  const fare = { share: "a-model", perSecond: 5, ...nothing };
  const { id } = await engine.submit({ ...submission(), by: { account: "guest", fare } });
  const read = queue.read.bind(queue);
  queue.read = async (...given) => {
    const reading = await read(...given);
    queue.read = read;
    expect(await desk.take(worker("w1"), { limit: 1, waitMs: 0, gone: here })).toHaveLength(1);
    await clock.advance(2000);
    return reading;
  };
  expect((await engine.cancel("ep", id, true)).state).toBe("CANCELLED");
  const charges = await queue.charges({ caller: "guest", from: 0, to: Number.MAX_SAFE_INTEGER });
  expect(charges).toMatchObject([{ executionMs: 2000, amount: 10 }]);
});

test("a cancel of a priced job that has ended leaves it as it is", async () => {
  const { engine, desk } = await jobWorld();
  const fare = { share: "a-model", perRequest: 1, perSecond: 0, perMillionInputTokens: 0, perMillionOutputTokens: 0 };
  const { id } = await engine.submit({ ...submission(), by: { account: "guest", fare } });
  await desk.take(worker("w1"), { limit: 1, waitMs: 0, gone: here });
  await desk.report(worker("w1"), [report(id, '{"output":1}')]);
  expect((await engine.cancel("ep", id, true)).state).toBe("COMPLETED");
});
