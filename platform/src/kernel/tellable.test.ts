/** What accounts are told of errors. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tellable } from "./tellable.ts";

const failureOf = (work: Promise<unknown>) => work.then(() => undefined, tellable);

test("what the system says of files and programs is told without their places", async () => {
  expect(await failureOf(readFile("/srv/millrace/instances/a/disk"))).toBe("ENOENT: no such file or directory");
  expect(await failureOf(promisify(execFile)("sh", ["-c", "exit 3", "/srv/millrace"]))).toBe(
    "the server's program 'sh' failed (3)",
  );
  const child = spawn("/srv/millrace/nothing");
  expect(tellable((await once(child, "error").catch((e) => [e]))[0])).toBe("ENOENT (spawn)");
});

test("the server's own words are told as they are", () => {
  expect(tellable(new Error("there is no folder /srv/app"))).toBe("there is no folder /srv/app");
  expect(tellable("a word")).toBe("a word");
});
