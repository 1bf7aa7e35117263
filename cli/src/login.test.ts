/** Profiles: how a person signs in to servers, which server and key a verb takes, and what it says when there is none. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shellFor, written } from "../../platform/tests/cli-shell.ts";
import { invited } from "../../platform/tests/people.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { setup, type World } from "../../platform/tests/world.ts";
import { ApiClient } from "./api.ts";
import { EXIT } from "./failure.ts";
import { loginCommand, logoutCommand, profilesCommand, useCommand } from "./login.ts";
import { findTarget } from "./profiles.ts";
import type { Environment, Shell } from "./shell.ts";

const GET_PODS = { method: "GET", path: "/v2/pods" } as const;

async function setupHome() {
  const [world, folder] = [await setup(), await temporaryFolder()];
  const env: Environment = { XDG_CONFIG_HOME: folder.path };
  const config = join(folder.path, "millrace", "config.json");
  return {
    world,
    env,
    config,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

const run = (make: (shell: Shell) => ReturnType<typeof loginCommand>, shell: Shell, ...words: string[]) =>
  make(shell)
    .exitOverride()
    .parseAsync(["node", "millrace", ...words]);

async function login(world: World, env: Environment, key: string, ...words: string[]): Promise<string> {
  const { shell, stdin, out } = shellFor(env);
  stdin.end(`${key}\n`);
  await run(loginCommand, shell, world.url, "--key-stdin", ...words);
  return out();
}

test("login checks the key, keeps it for its owner's eyes alone, and verbs use it from then on", async () => {
  await using home = await setupHome();
  const { world, env, config } = home;
  expect(await login(world, env, world.key)).toContain(`signed in to ${world.url}`);
  expect((await stat(config)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(config, "utf8"))).toEqual({
    current: "local",
    profiles: { local: { url: world.url, key: world.key } },
  });
  expect(await findTarget({}, env)).toEqual({ url: world.url, key: world.key, from: "profile 'local'" });
});

test("a key that the server refuses is not kept", async () => {
  await using home = await setupHome();
  await expect(login(home.world, home.env, "wrong")).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining("refused the key of this login"),
  });
  await expect(login(home.world, home.env, "")).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
  await expect(readFile(home.config)).rejects.toThrow("ENOENT");
});

test("on a terminal the key is asked for and not shown", async () => {
  await using home = await setupHome();
  const { shell, stdin, err } = shellFor(home.env);
  const modes: boolean[] = [];
  Object.assign(stdin, { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  stdin.write(`${home.world.key}x\u007f\r`);
  await run(loginCommand, shell, home.world.url, "--key");
  expect([modes, err()]).toEqual([[true, false], `API key for ${home.world.url}: \n`]);
  stdin.write("\u0003");
  await expect(run(loginCommand, shell, home.world.url, "--key")).rejects.toMatchObject({
    exitCode: EXIT.interrupted,
  });
  const piped = shellFor(home.env);
  await expect(run(loginCommand, piped.shell, home.world.url, "--key")).rejects.toThrow(
    "pipe the key in with --key-stdin",
  );
});

test("profiles are listed, changed and forgotten", async () => {
  await using home = await setupHome();
  const { world, env } = home;
  await login(world, env, world.key, "--name", "one");
  await login(world, env, await world.newKey(), "--name", "two");
  const { shell, out } = shellFor(env);
  await run(profilesCommand, shell);
  expect(out()).toBe(`  one  ${world.url}\n* two  ${world.url}\n`);
  await run(useCommand, shell, "one");
  expect((await findTarget({}, env)).from).toBe("profile 'one'");
  expect((await findTarget({ profile: "two" }, env)).from).toBe("profile 'two'");
  expect((await findTarget({}, { ...env, MILLRACE_PROFILE: "two" })).from).toBe("profile 'two'");
  await run(logoutCommand, shell);
  await expect(findTarget({ profile: "one" }, env)).rejects.toThrow("there is no profile 'one'. Known are two.");
  await expect(run(useCommand, shell, "one")).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
});

test("flags win over variables, variables over the profile, and no key goes to another server than its own", async () => {
  await using home = await setupHome();
  const { world, env, folder } = home;
  await login(world, env, world.key, "--name", "one");
  const elsewhere = "https://other.test";
  await expect(findTarget({ url: elsewhere }, env)).rejects.toThrow(`there is no API key for ${elsewhere}`);
  const given = { ...env, MILLRACE_URL: `${elsewhere}/`, MILLRACE_API_KEY: "k" };
  expect(await findTarget({}, given)).toEqual({ url: elsewhere, key: "k", from: "MILLRACE_API_KEY" });
  expect(await findTarget({ profile: "one" }, given)).toMatchObject({ url: world.url, key: world.key });
  const file = join(folder, "key");
  await writeFile(file, "from-file\n");
  expect(await findTarget({ url: "gpu.test:80", keyFile: file }, given)).toMatchObject({
    ...{ url: "http://gpu.test", key: "from-file" },
  });
  await expect(findTarget({ url: "http://u:p@x" }, given)).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
});

test("without a profile it is this machine's server with its owner's key", async () => {
  await using home = await setupHome();
  const data = join(home.folder, "data");
  const env = { ...home.env, MILLRACE_DATA: data };
  await expect(findTarget({}, env)).rejects.toThrow("no server is known: start one here with 'millrace serve'");
  expect(await findTarget({}, { ...env, MILLRACE_API_KEY: "k" })).toMatchObject({
    url: "http://127.0.0.1:7420",
    key: "k",
  });
  await mkdir(data);
  await writeFile(join(data, "running.json"), JSON.stringify({ url: home.world.url, workerUrl: home.world.url }));
  await writeFile(join(data, "api-key"), `${home.world.key}\n`);
  const target = await findTarget({}, env);
  expect(target).toMatchObject({ url: home.world.url, key: home.world.key });
  expect(await new ApiClient(target).call(GET_PODS)).toMatchObject({ pods: [] });
});

test("a failure says what happened and what to do: the server's own reason, its remedy, and the fields that are wrong", async () => {
  await using world = await setup();
  const api = new ApiClient({ url: world.url, key: world.key, from: "profile 'x'" });
  const failed = (path: string, body?: object) =>
    api.call({ method: body ? "POST" : "GET", path }, { body }).catch((error: Error) => error);
  expect(await failed("/v2/pods/none")).toMatchObject({
    status: 404,
    exitCode: EXIT.notFound,
    message: "pod not found",
  });
  expect(await failed("/v2/templates", { name: "x", nonsense: 1 })).toMatchObject({
    exitCode: EXIT.failed,
    errors: expect.arrayContaining([expect.stringContaining("'nonsense'")]),
  });
  const stale = new ApiClient({ url: world.url, key: "old", from: "profile 'work'" });
  await expect(stale.call(GET_PODS)).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining("refused the key of profile 'work'"),
    errors: [`Sign in again: millrace login ${world.url}`],
  });
  const nobody = new ApiClient({ url: "http://127.0.0.1:1", key: "k", from: "x" });
  await expect(nobody.call(GET_PODS)).rejects.toThrow("http://127.0.0.1:1 is not reachable (ECONNREFUSED). No server");
  const page = new ApiClient({ url: `${world.url}/nowhere`, key: world.key, from: "x" });
  await expect(page.call(GET_PODS)).rejects.toMatchObject({ exitCode: EXIT.notFound });
});

test("a damaged file of profiles is named, with what to do", async () => {
  await using home = await setupHome();
  await mkdir(join(home.folder, "millrace"));
  await writeFile(home.config, "{");
  await expect(findTarget({}, home.env)).rejects.toThrow(`${home.config} is damaged`);
});

describe("a code", () => {
  test("is shown, approved in the console, and gives a session with the person's role, which logout ends", async () => {
    await using home = await setupHome();
    const { world, env } = home;
    const browser = await invited(world, { role: "viewer" });
    const { shell, out, err } = shellFor(env);
    const ended = run(loginCommand, { ...shell, clock: world.clock }, world.url);
    const code = await codeIn(err);
    expect(err()).toContain(`https://millrace.test/code#${code}`);
    const body = { userCode: code.toLowerCase(), approve: true };
    expect((await browser.call("POST", "/v2/account/codes/answer", { body })).status).toBe(204);
    await written(out, "signed in", () => world.clock.advance(1000));
    await ended;
    expect(out()).toContain(`signed in to ${world.url} as viewer@example.com (viewer, until `);
    const api = new ApiClient(await findTarget({}, env));
    expect(await api.call(GET_PODS)).toMatchObject({ pods: [] });
    const secret = { method: "POST", path: "/v2/account/secrets" } as const;
    await expect(api.call(secret, { body: { name: "s", value: "v" } })).rejects.toMatchObject({ status: 403 });
    await run(logoutCommand, shell);
    expect(out()).toContain("its session has ended");
    await world.clock.advance(1000);
    await expect(api.call(GET_PODS)).rejects.toMatchObject({ status: 401, code: "session-ended" });
  });

  test("that is refused in the console ends the command", async () => {
    await using home = await setupHome();
    const browser = await invited(home.world);
    const { world } = home;
    const { shell, err } = shellFor(home.env);
    const failed = { text: "" };
    const ended = run(loginCommand, { ...shell, clock: world.clock }, world.url).catch((error: Error) => {
      failed.text = error.message;
      return error;
    });
    const body = { userCode: await codeIn(err), approve: false };
    await browser.call("POST", "/v2/account/codes/answer", { body });
    await written(
      () => failed.text,
      "refused",
      () => world.clock.advance(1000),
    );
    expect(await ended).toMatchObject({
      code: "code-over",
      message: expect.stringContaining("This code was used or refused"),
    });
    await expect(readFile(home.config)).rejects.toThrow("ENOENT");
  });

  test("that nobody has approved is given up with Ctrl-C", async () => {
    await using home = await setupHome();
    const { shell, err, interrupt } = shellFor(home.env);
    const ended = run(loginCommand, shell, home.world.url).catch((error: unknown) => error);
    await codeIn(err);
    interrupt();
    expect(await ended).toMatchObject({ exitCode: EXIT.interrupted });
  });
});

async function codeIn(err: () => string): Promise<string> {
  await written(err, "Waiting");
  return /[A-Z]{4}-[A-Z]{4}/.exec(err())![0];
}
