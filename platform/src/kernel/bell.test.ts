/** A bell: everyone who listens hears it. */
import { expect, test } from "vitest";
import { Bell } from "./bell.ts";

test("those who listen are told in their order, until they do not listen any more", () => {
  const bell = new Bell<string>();
  const heard: string[] = [];
  bell.ring("before anybody listens");
  const stop = bell.hear((what) => void heard.push(`first: ${what}`));
  bell.hear((what) => void heard.push(`second: ${what}`));
  bell.ring("a");
  stop();
  bell.ring("b");
  expect(heard).toEqual(["first: a", "second: a", "second: b"]);
});
