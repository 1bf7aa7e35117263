/** A terminal in a Pod of a real server, over a WebSocket and with the command line. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { launcher } from "./process.ts";
import { podTerminal, reachedAt, TerminalClient } from "./terminal-client.ts";
import type { ServerPlace } from "./worker-place.ts";

export async function useTerminal(at: ServerPlace, pod: string): Promise<void> {
  const { json } = await at.call("POST", podTerminal(pod), { cols: 100, rows: 30 });
  const client = await new TerminalClient(reachedAt(at.server, json.url)).opened();
  // The terminal echoes what is typed. The quotes make the echo differ from the shell's answer.
  client.type('echo "size: $(stty size)"\r');
  await client.heard("size: 30 100");
  client.say({ type: "resize", cols: 120, rows: 40 });
  client.type('while [ "$(stty size)" != "40 120" ]; do sleep 0.1; done; echo "is re"sized\r');
  await client.heard("is resized");
  client.type("exit 5\r");
  expect(await client.told("exit")).toEqual({ type: "exit", code: 5, signal: null, reason: null });
  expect(await client.closed).toBe(1000);
  await useCommandLine(at, pod);
}

/** Without a terminal: bytes pass unchanged, errors stay separate, and the exit status is passed on. */
async function useCommandLine(at: ServerPlace, pod: string): Promise<void> {
  const command = ["exec", pod, "--", "sh", "-c", "cat; echo wrong >&2; exit 3"];
  const env = { PATH: process.env.PATH, MILLRACE_URL: at.server.url, MILLRACE_API_KEY: at.key };
  const child = spawn(launcher, command, { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {}).end(Buffer.from([0, 255, 10, 13, 4, 10]));
  const [out, errors, [status]] = await Promise.all([
    text(child.stdout.setEncoding("latin1")),
    text(child.stderr),
    once(child, "exit"),
  ]);
  expect([Buffer.from(out, "latin1"), errors, status]).toEqual([Buffer.from([0, 255, 10, 13, 4, 10]), "wrong\n", 3]);
}
