/** The time from the request for a Pod until its program's first line reaches a reader of its log, and a bare start to compare. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { RunningMillrace } from "./millrace.ts";
import { now, shown, summary, type Waits } from "./start-waits.ts";

export interface PodStarts {
  pods: Waits;
  bare: Waits;
}

/** Prints a line and keeps running. */
export const FIRST_LINE = ["sh", "-c", "echo up; exec sleep 3600"];

const STARTS = 20;
const FEW = 3;

export interface PodPlace {
  /** The name in the table. */
  name: string;
  running: RunningMillrace;
  program: { image: string; cmd: string[] };
  /** The command that starts the same program on its own. */
  bare: [string, ...string[]];
  quick: boolean;
  say: (line: string) => void;
}

export async function measurePods({ name, running, program, bare, quick, say }: PodPlace): Promise<PodStarts> {
  const { port, headers } = running.submit;
  const server = new PodServer(`http://127.0.0.1:${port}`, headers, program);
  // Work that a server does only once is not part of a start.
  await server.start();
  const [pods, bares]: number[][] = [[], []];
  for (let i = 0; i < (quick ? FEW : STARTS); i++) {
    bares!.push(await bareStart(bare));
    pods!.push(await server.start());
  }
  const starts = { pods: summary(pods!), bare: summary(bares!) };
  say(`  ${name}: Pod created to its first line: ${shown(starts.pods)}; a bare start: ${shown(starts.bare)}`);
  return starts;
}

class PodServer {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #program: object;

  constructor(url: string, headers: Record<string, string>, program: object) {
    this.#url = url;
    this.#headers = headers;
    this.#program = program;
  }

  /** Returns the milliseconds until the line was read. The Pod is removed afterwards. */
  async start(): Promise<number> {
    const sentAt = now();
    const body = JSON.stringify({ name: "bench", ...this.#program, cpu: { id: "cpu3c", vcpuCount: 2 } });
    const created = await fetch(`${this.#url}/v2/pods`, {
      method: "POST",
      headers: { ...this.#headers, "content-type": "application/json" },
      body,
    });
    if (created.status !== 201) throw new Error(`no Pod was made: ${await created.text()}`);
    const { id } = (await created.json()) as { id: string };
    const waitMs = (await this.#firstLine(id)) - sentAt;
    await fetch(`${this.#url}/v2/pods/${id}`, { method: "DELETE", headers: this.#headers });
    return waitMs;
  }

  async #firstLine(pod: string): Promise<number> {
    const path = `${this.#url}/v2/pods/${pod}/logs?source=container`;
    const response = await fetch(path, { headers: this.#headers });
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('"up"')) return now();
    }
    throw new Error(`the log ended without the line: ${text}`);
  }
}

async function bareStart([command, ...args]: [string, ...string[]]): Promise<number> {
  const startedAt = now();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  const waitMs = now() - startedAt;
  await ended;
  return waitMs;
}
