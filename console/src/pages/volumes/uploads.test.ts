/** Uploads wait for each other, can be cancelled and tried again, and say how far they are. */
import { expect, test } from "vitest";
import { Refusal } from "../../api/refusal.ts";
import { moved, nextOf, shareOf, type Upload, type UploadMove } from "./uploads.ts";

const file = (size: number) => ({ size }) as File;
const after = (...moves: UploadMove[]) => moves.reduce<Upload[]>(moved, []);
const add = (...paths: string[]): UploadMove => ({
  type: "add",
  uploads: paths.map((path) => ({ path, file: file(100) })),
});

test("two are sent at a time, in the order in which they came", () => {
  expect(nextOf(after(add("a", "b", "c"))).map(({ path }) => path)).toEqual(["a", "b"]);
  const begun = after(add("a", "b", "c"), { type: "begin", path: "a" }, { type: "begin", path: "b" });
  expect(nextOf(begun)).toEqual([]);
  expect(nextOf(moved(begun, { type: "done", path: "a" })).map(({ path }) => path)).toEqual(["c"]);
});

test("a file that is under way is not added again, and one that is done is", () => {
  const begun = after(add("a"), { type: "begin", path: "a" });
  expect(moved(begun, add("a"))).toEqual(begun);
  const done = moved(begun, { type: "done", path: "a" });
  expect(moved(done, add("a")).map(({ state }) => state)).toEqual(["waiting"]);
});

test("one that was refused waits again, and may then replace what is there", () => {
  const refusal = new Refusal(409, "Conflict", "something is there");
  const failed = after(add("a"), { type: "begin", path: "a" }, { type: "failed", path: "a", refusal });
  expect(nextOf(failed)).toEqual([]);
  expect(nextOf(moved(failed, { type: "again", path: "a", mayReplace: true }))).toMatchObject([
    { mayReplace: true, sent: 0 },
  ]);
});

test("clearing keeps what is under way", () => {
  const uploads = after(
    add("a", "b"),
    { type: "begin", path: "a" },
    { type: "cancelled", path: "b" },
    { type: "clear" },
  );
  expect(uploads.map(({ path }) => path)).toEqual(["a"]);
});

test("the share counts bytes of what is not given up", () => {
  const uploads = after(
    add("a", "b", "c"),
    { type: "done", path: "a" },
    { type: "progress", path: "b", sent: 50 },
    { type: "cancelled", path: "c" },
  );
  expect(shareOf(uploads)).toBe(0.75);
  expect(shareOf([])).toBe(1);
});
