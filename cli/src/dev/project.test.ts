/** Which handler and folder a person means, and what a sandboxed Python needs. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { realClock } from "@millrace/platform/kernel/clock.ts";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../platform/tests/process.ts";
import { Changes } from "./changes.ts";
import { configuredProject, findProject } from "./project.ts";
import { missingSdk, shownFor } from "./python.ts";

async function projectWith(...files: string[]) {
  const folder = await temporaryFolder();
  for (const file of files) {
    await mkdir(join(folder.path, file, ".."), { recursive: true });
    await writeFile(join(folder.path, file), "");
  }
  return folder;
}

test("a folder's handler is found by its usual names, also below src", async () => {
  await using plain = await projectWith("handler.py", "other.py");
  expect(await findProject(plain.path)).toMatchObject({ folder: plain.path, handler: "handler.py" });
  await using below = await projectWith("src/handler.ts");
  expect(await findProject(below.path)).toMatchObject({ folder: below.path, handler: "src/handler.ts" });
});

test("a file's project is the nearest folder with a mark of one, or else its own folder", async () => {
  await using marked = await projectWith("pyproject.toml", "src/app/run.py");
  const found = await findProject(join(marked.path, "src/app/run.py"));
  expect(found).toMatchObject({ folder: marked.path, handler: "src/app/run.py" });
  await using bare = await projectWith("deep/run.py");
  expect(await findProject(join(bare.path, "deep/run.py"))).toMatchObject({ handler: "run.py", name: "deep" });
});

test("millrace.yaml names the handler and how it runs; its name, image and number of workers are for deployments", async () => {
  await using folder = await projectWith("src/app/run.py");
  const yaml = "name: shop\nhandler: src/app/run.py\nimage: a:1\nenv: {A: b}\ntimeout: 60000\nworkers: {max: 9}\n";
  await writeFile(join(folder.path, "millrace.yaml"), yaml);
  const { project, fields } = await configuredProject(folder.path);
  expect(project).toMatchObject({ folder: folder.path, handler: "src/app/run.py" });
  expect(fields).toEqual({ env: { A: "b" }, timeout: 60_000 });
  await writeFile(join(folder.path, "millrace.yaml"), "handler: src/app/run.py\ntype: LOAD_BALANCER\n");
  await expect(configuredProject(folder.path)).rejects.toThrow("millrace dev runs handlers of queue endpoints");
});

test("what is no handler is refused, with what to name instead", async () => {
  await using folder = await projectWith("notes.md");
  await expect(findProject(folder.path)).rejects.toThrow("holds no handler: name the file, or call it handler.py");
  await expect(findProject(join(folder.path, "notes.md"))).rejects.toThrow("is no handler: name a file that ends with");
  await expect(findProject(join(folder.path, "none.py"))).rejects.toThrow("does not exist");
});

const venv = {
  ...{ executable: "/srv/app/.venv/bin/python", version: "3.11.7", prefix: "/srv/app/.venv", hasSdk: false },
  ...{
    basePrefix: "/opt/python",
    path: ["/opt/python/lib/python3.11", "/home/me/.local/lib/python3.11/site-packages"],
  },
};

test("a Python outside the project and a user's own packages are shown to programs, and system folders are not", () => {
  expect(shownFor(venv, "/srv/app")).toEqual({
    readable: ["/opt/python", "/home/me/.local/lib/python3.11/site-packages"],
    extra: ["/home/me/.local/lib/python3.11/site-packages"],
  });
  const machines = { ...venv, prefix: "/usr", basePrefix: "/usr", path: ["/usr/lib/python3/dist-packages"] };
  expect(shownFor(machines, "/srv/app")).toEqual({ readable: [], extra: [] });
});

test("a missing SDK is told with the one command that brings it", () => {
  expect(missingSdk("handler.py", "/srv/app", venv)).toContain("\n  /srv/app/.venv/bin/python -m pip install runpod\n");
  const machines = { ...venv, executable: "/usr/bin/python3", prefix: "/usr", basePrefix: "/usr" };
  expect(missingSdk("handler.py", "/srv/app", machines)).toContain(
    "\n  /usr/bin/python3 -m venv /srv/app/.venv && /srv/app/.venv/bin/pip install runpod\n",
  );
});

test("a save is told once, and files that tools write are not", async () => {
  await using folder = await projectWith("handler.py", "node_modules/a/b.js", "src/model.py");
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  using _ = new Changes({ folder: folder.path, clock: realClock, changed: resolve, failed: reject });
  await writeFile(join(folder.path, "node_modules/a/b.js"), "1");
  await writeFile(join(folder.path, "src/model.py"), "1");
  await writeFile(join(folder.path, "handler.py"), "1");
  expect((await promise).sort()).toEqual(["handler.py", "src/model.py"]);
});
