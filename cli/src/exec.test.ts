/** `millrace exec` in a pipe, on a server that the test plays: what it requests, its messages on failure, and its exit status. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { shellFor } from "../../platform/tests/cli-shell.ts";
import { type PodWorld, setupPods } from "../../platform/tests/pod-world.ts";
import { played } from "../../platform/tests/terminal-client.ts";
import { execCommand } from "./exec.ts";
import type { Streams } from "./shell.ts";
import { Terminal } from "./terminal.ts";

/** Makes the streams of a process that runs in a pipe. */
function piped() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return { stdin, stdout, stderr, streams: { stdin, stdout, stderr } as unknown as Streams };
}

/** Makes the same on a terminal of the given size. */
function onTerminal(columns: number, rows: number) {
  const pipes = piped();
  const modes: boolean[] = [];
  const raw = Promise.withResolvers<void>();
  const setRawMode = (isRaw: boolean) => {
    modes.push(isRaw);
    raw.resolve();
  };
  Object.assign(pipes.stdin, { isTTY: true, setRawMode });
  Object.assign(pipes.stdout, { isTTY: true, columns, rows });
  return { ...pipes, modes, whenRaw: raw.promise };
}

async function addressIn(world: PodWorld, body: object): Promise<string> {
  const { id } = await world.create();
  const { json } = await world.call("POST", `/v2/pods/${id}/terminal`, { body });
  return `${world.url.replace("http", "ws")}/v2/terminals/${json.ticket}`;
}

const run = (env: object, ...words: string[]) =>
  execCommand(shellFor(env).shell)
    .exitOverride()
    .parseAsync(["node", "exec", ...words]);

test("in a pipe there is no terminal; what comes in goes through to its end, errors come apart, and the status is the program's", async () => {
  await using world = await setupPods();
  const { stdin, stdout, stderr, streams } = piped();
  const terminal = new Terminal(streams);
  const body = { command: ["x"], ...terminal.wish("vt100") };
  expect(body).toEqual({ command: ["x"], tty: false });
  const url = await addressIn(world, body);
  const playing = played(world.running()[0]!);
  const status = terminal.run(url);
  const program = await playing;
  stdin.end("input");
  let heard = "";
  for await (const chunk of program.input) heard += chunk;
  expect(heard).toBe("input");
  await program.write("out");
  await program.write("wrong", "stderr");
  program.end({ code: 9 });
  expect(await status).toBe(9);
  expect([String(stdout.read()), String(stderr.read())]).toEqual(["out", "wrong"]);
});

test("on a terminal it is raw while it lasts, has the same size, and tells when that changes", async () => {
  await using world = await setupPods();
  const { stdout, streams, modes, whenRaw } = onTerminal(120, 40);
  const terminal = new Terminal(streams);
  const body = terminal.wish("vt100");
  expect(body).toEqual({ tty: true, cols: 120, rows: 40, term: "vt100" });
  const url = await addressIn(world, body);
  const playing = played(world.running()[0]!);
  const status = terminal.run(url);
  const program = await playing;
  const resized = new Promise((resolve) => {
    program.onResize = resolve;
  });
  // The program may start before this side knows that the connection is open.
  await whenRaw;
  Object.assign(stdout, { columns: 90, rows: 20 }).emit("resize");
  expect(await resized).toEqual({ columns: 90, rows: 20 });
  program.end({ signal: "SIGTERM" });
  expect([await status, modes]).toEqual([128 + 15, [true, false]]);
});

test("a reason is said, and a refusal in the WebSocket is an error", async () => {
  await using world = await setupPods();
  const { stderr, streams } = piped();
  expect(await new Terminal(streams).run(await addressIn(world, { command: ["fish"], tty: false }))).toBe(127);
  expect(String(stderr.read())).toContain("millrace: 127: there is no program 'fish'");
  const url = await addressIn(world, {});
  const pods = (await world.call("GET", "/v2/pods")).json.pods as { id: string }[];
  for (const { id } of pods) await world.act(id, "stop");
  await expect(new Terminal(piped().streams).run(url)).rejects.toThrow("is EXITED: stopped by its owner");
  await expect(new Terminal(piped().streams).run(url)).rejects.toThrow("the server answered 401");
});

test("what the server refuses is said in its words, and what is missing before it is asked", async () => {
  await using world = await setupPods();
  const env = { MILLRACE_URL: `${world.url}/`, MILLRACE_API_KEY: world.key };
  await expect(run({ ...env, MILLRACE_API_KEY: undefined }, "pod")).rejects.toThrow("set MILLRACE_API_KEY");
  await expect(run(env, "nosuch", "--no-tty")).rejects.toThrow("pod not found");
  await expect(run(env, "nosuch", "--endpoint", "none", "--no-tty")).rejects.toThrow("endpoint not found");
  await expect(run({ ...env, MILLRACE_API_KEY: "x" }, "nosuch", "--no-tty")).rejects.toThrow("invalid API key");
  await expect(run(env, "pod", "--url", "http://127.0.0.1:1", "--no-tty")).rejects.toThrow(
    "http://127.0.0.1:1 is not reachable",
  );
});
