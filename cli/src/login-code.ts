/** Signs in by a code: the terminal shows it, and a person approves it in the console, on any machine. */
import { hostname } from "node:os";
import { sleep } from "@millrace/platform/kernel/clock.ts";
import { ApiClient } from "./api.ts";
import { EXIT, Failure, Refusal } from "./failure.ts";
import { textOf } from "./http.ts";
import { type Shell, writeLine } from "./shell.ts";

const CODES = "/v2/account/sign-in/codes";
const PREFIX = "mls_";
const TOO_MANY = 429;
const NOT_THERE = [404, 405];

interface Asked {
  deviceCode: string;
  userCode: string;
  url: string;
  expiresInS: number;
  intervalS: number;
}

/** Whether a profile's key is a session of `millrace login`, which `logout` can end. */
export const isSessionKey = (key: string) => key.startsWith(PREFIX);

/** Returns the key once somebody has approved the code. */
export async function keyByCode(shell: Shell, url: string): Promise<string> {
  const { stderr, clock } = shell;
  const api = new ApiClient({ url, key: "", from: "this login" });
  const asked = (await post(api, CODES, { device: hostname().slice(0, 100) || "unknown" }).catch(
    withoutCodes,
  )) as Asked;
  writeLine(stderr, `Open this page in a browser, on any machine, and approve the code ${asked.userCode}:`);
  writeLine(stderr, `  ${asked.url}`);
  writeLine(stderr, `Waiting for it; the code is good for ${Math.floor(asked.expiresInS / 60)} minutes.`);
  const untilMs = clock.monotonic() + asked.expiresInS * 1000;
  const stopped = abortOf(shell.interrupted());
  while (clock.monotonic() < untilMs) {
    await Promise.race([sleep(clock, asked.intervalS * 1000), stopped]);
    if (shell.interrupted().aborted) throw new Failure("nobody approved the code yet", EXIT.interrupted);
    const answer = (await post(api, `${CODES}/collect`, { deviceCode: asked.deviceCode }).catch(unlessSlow)) as
      | { key: string }
      | undefined;
    if (answer) return answer.key;
  }
  throw new Failure("nobody approved the code in time: run 'millrace login' again", EXIT.waited);
}

async function post(api: ApiClient, path: string, body: object): Promise<unknown> {
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    // The server takes sign-ins only from its own pages, and from programs that name its own address.
    origin: new URL(api.target.url).origin,
  };
  const said = await textOf(await api.send(path, { method: "POST", headers, body: text }));
  return said === "" ? undefined : JSON.parse(said);
}

const abortOf = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** A connection that broke for a moment, or a question too many, is tried again until the code's time is over. */
function unlessSlow(error: unknown): undefined {
  const isFinal = error instanceof Refusal && error.status !== TOO_MANY;
  if (isFinal || !(error instanceof Failure)) throw error;
}

function withoutCodes(error: unknown): never {
  if (error instanceof Refusal && NOT_THERE.includes(error.status))
    throw new Failure("this server cannot sign in by a code: give an API key instead, with --key or --key-stdin");
  throw error;
}
