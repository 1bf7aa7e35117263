/** What accounts are told about errors. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { withoutPlaces } from "./places.ts";
import { hideFolder, tellable } from "./tellable.ts";

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

test("a data folder shows in nothing that is told, whatever failed in it, under either of its names", async () => {
  const root = await mkdtemp(join(tmpdir(), "telling-name-"));
  try {
    const real = join(root, "very-telling-data");
    const linked = join(root, "linked-data");
    await mkdir(real);
    await symlink(real, linked);
    hideFolder(linked);
    await writeFile(join(real, "a-file"), "");
    const inside = [join(real, "gone", "disk"), join(linked, "gone"), join(real, "a-file", "under")];
    const told = await Promise.all(inside.map((path) => failureOf(readFile(path))));
    told.push(...(await Promise.all([inside[0]!, inside[2]!].map((path) => failureOf(writeFile(path, "x"))))));
    told.push(failureIn(() => new DatabaseSync(join(real, "gone", "store.db"))));
    // Writing to this device fails like writing to a full disk.
    told.push(await failureOf(writeFile("/dev/full", "x")));
    for (const path of [...inside, real, linked, `'${real}/a b'`, `"${linked}/x":`])
      told.push(tellable(new Error(`cannot use ${path}: no room`)), withoutPlaces(`at ${path}, and more`));
    expect(told.every((text) => typeof text === "string" && text !== "")).toBe(true);
    expect(told.filter((text) => /telling|linked-data/.test(text ?? ""))).toEqual([]);
    expect(tellable(new Error(`mkfs failed: ${real}/instances/a/disk: no room`))).toBe(
      "mkfs failed: the server's data folder: no room",
    );
  } finally {
    await rm(root, { recursive: true });
  }
});

test("a folder that only begins in the same way is another one", () => {
  hideFolder("/srv/telling");
  expect(withoutPlaces("mounted at /srv/telling-more/app")).toBe("mounted at /srv/telling-more/app");
  expect(withoutPlaces("there is no /srv/telling/x")).toBe("there is no the server's data folder");
});

function failureIn(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return tellable(error);
  }
}
