/** `millrace doctor`, `completion` and `keys` over the API. */
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runLine, runWords, shellFor } from "../../platform/tests/cli-shell.ts";
import { setupPods } from "../../platform/tests/pod-world.ts";
import { run, temporaryFolder } from "../../platform/tests/process.ts";
import { setup } from "../../platform/tests/world.ts";
import { nodeOf, sandbox } from "./doctor-checks.ts";

const envOf = ({ url, key }: { url: string; key: string }) => ({ MILLRACE_URL: url, MILLRACE_API_KEY: key });

test("doctor says of each thing whether it is well, and how to mend what is not", async () => {
  await using world = await setup();
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await mkdir(data, { mode: 0o755 });
  await chmod(data, 0o755);
  const { shell, out } = shellFor({ ...envOf(world), PATH: "/nowhere" });
  await runWords(shell, ["doctor", "--json", "--data", data]).catch(() => undefined);
  const { checks } = JSON.parse(out()) as { checks: { name: string; state: string; says: string; mend?: string }[] };
  const named = (name: string) => checks.find((check) => check.name === name)!;
  expect(checks.map(({ name }) => name)).toEqual([
    ...[
      "Node",
      "data folder",
      "settings",
      "database",
      "disk",
      "open files",
      "server",
      "service",
      "port",
      "clock",
      "single sign-on",
      "containers",
      "sandbox",
      "control groups",
      "GPUs",
    ],
  ]);
  expect(named("Node").state).toBe("ok");
  expect(named("server")).toMatchObject({ state: "ok", says: expect.stringContaining(world.url) });
  expect(named("data folder")).toMatchObject({ state: "warn", mend: `Close it: chmod 700 ${data}` });
  // The clock of the server in this test stands still in the past, and its answers carry the real time of Node.
  expect(["ok", "fail"]).toContain(named("clock").state);
  for (const { state, mend } of checks) expect(state === "ok" || mend !== undefined).toBe(true);
});

test("what is too old or missing is named", async () => {
  expect(nodeOf("22.1.0")).toMatchObject({ state: "fail", says: "22.1.0 is too old" });
  await using folder = await temporaryFolder();
  const { state, mend = "" } = await sandbox(folder.path);
  expect(state === "ok" || mend.startsWith("Install them: sudo apt-get install")).toBe(true);
});

test("verbs, flags and ids from the server are completed", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const complete = async (...words: string[]) => {
    const { shell, out } = shellFor(envOf(world));
    await runWords(shell, ["complete-words", "--", ...words]);
    return out().split("\n").slice(0, -1);
  };
  expect(await complete("lo")).toEqual(["login", "logout", "logs"]);
  expect(await complete("pods", "re")).toEqual(["restart"]);
  expect(await complete("pods", "list", "--col")).toEqual(["--columns"]);
  expect(await complete("pods", "stop", "")).toEqual([id, "box"].sort());
  expect(await complete("logs", "b")).toEqual(["box"]);
  expect(await complete("nonsense", "")).toEqual([]);
  const nowhere = shellFor({ MILLRACE_URL: "http://127.0.0.1:1", MILLRACE_API_KEY: "k" });
  await runWords(nowhere.shell, ["complete-words", "--", "pods", "stop", ""]);
  expect(nowhere.out()).toBe("");
});

test("the script of each shell calls back, and bash takes its own", async () => {
  for (const shell of ["bash", "zsh", "fish"])
    expect((await runLine({}, `millrace completion ${shell}`)).out).toContain("complete-words --");
  const { out } = await runLine({}, "millrace completion bash");
  const { code, stderr } = await run("bash", ["-c", `${out}\ncomplete -p millrace`]);
  expect([code, stderr]).toEqual([0, ""]);
});

test("keys of a server are made, listed and revoked over its API", async () => {
  await using world = await setup();
  const env = { ...envOf(world), MILLRACE_DATA: undefined };
  const { out } = await runLine(env, "millrace keys create --scopes all --name ci --json");
  const { id, key } = JSON.parse(out);
  expect((await world.call("GET", "/v2/pods", { key })).status).toBe(200);
  expect((await runLine(env, `millrace keys list --url ${world.url}`)).out).toContain(`${id}  ci  all`);
  await runLine(env, `millrace keys revoke ${id}`);
  expect((await world.call("GET", "/v2/pods", { key })).status).toBe(401);
});
