/** How the chunks of a stream are read. */
import { expect, test } from "vitest";
import { streamText } from "./job-stream.ts";

test("pieces of text are one text", () => {
  expect(streamText(["Hel", "lo", " you"])).toBe("Hello you");
});

test("other chunks stand one to a line", () => {
  expect(streamText([{ n: 1 }, "two", [3]])).toBe('{"n":1}\ntwo\n[3]');
});
