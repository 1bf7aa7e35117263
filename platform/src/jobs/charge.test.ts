/** What a job on a shared endpoint costs, and where its tokens are found. */
import { expect, test } from "vitest";
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
