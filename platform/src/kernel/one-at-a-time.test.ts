/** Tasks that must not overlap. */
import { expect, test } from "vitest";
import { OneAtATime, OneAtATimeEach } from "./one-at-a-time.ts";

/** Tasks that end when the test says so, and record when they begin. */
function tasks() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    task: (name: string) => () => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: (name: string) => ends.get(name)!.resolve(name),
    fail: (name: string) => ends.get(name)!.reject(new Error(name)),
  };
}

const soon = () => new Promise(setImmediate);

test("each begins when the one before is over, also one that failed", async () => {
  const { begun, task, end, fail } = tasks();
  const line = new OneAtATime();
  const [first, second, third] = [line.run(task("a")), line.run(task("b")), line.run(task("c"))];
  await soon();
  expect(begun).toEqual(["a"]);
  fail("a");
  await expect(first).rejects.toThrow("a");
  await soon();
  expect(begun).toEqual(["a", "b"]);
  end("b");
  expect(await second).toBe("b");
  await soon();
  end("c");
  await line.over;
  expect(await third).toBe("c");
});

test("those of one wait for each other, and not for those of another", async () => {
  const { begun, task, end } = tasks();
  const lines = new OneAtATimeEach();
  const all = [lines.run("x", task("x1")), lines.run("x", task("x2")), lines.run("y", task("y1"))];
  await soon();
  expect(begun).toEqual(["x1", "y1"]);
  end("x1");
  await soon();
  expect(begun).toEqual(["x1", "y1", "x2"]);
  end("x2");
  end("y1");
  expect(await Promise.all(all)).toEqual(["x1", "x2", "y1"]);
  const again = lines.run("x", task("x3"));
  await soon();
  end("x3");
  expect(await again).toBe("x3");
});
