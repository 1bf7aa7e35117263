/** Stand-ins for workers on the public protocol: each takes one job, reports it and takes the next. Raw sockets keep them cheap. */
import { connect, type Socket } from "node:net";
import { bodyOf, isWhole, statusOf } from "./http-answer.ts";

const { env, workers } = JSON.parse(process.argv[2]!) as { env: Record<string, string>; workers: number };
const headers = `Host: 127.0.0.1\r\nAuthorization: ${env.RUNPOD_AI_API_KEY}\r\nUser-Agent: RunPod-Python-SDK/1.12.0\r\n`;

/** One connection that stays open, with one request at a time. */
class Line {
  readonly #socket: Socket;
  #received: Buffer | undefined;
  #answered: (answer: Buffer) => void = () => undefined;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("error", () => process.exit(process.connected ? 1 : 0));
    this.#socket.on("data", (chunk) => {
      const received = this.#received ? Buffer.concat([this.#received, chunk as Buffer]) : (chunk as Buffer);
      this.#received = isWhole(received) ? undefined : received;
      if (!this.#received) this.#answered(received);
    });
  }

  ask(method: "GET" | "POST", { pathname, search }: URL, more: string, body?: string): Promise<Buffer> {
    const length = body === undefined ? "" : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    this.#socket.write(`${method} ${pathname}${search}${more} HTTP/1.1\r\n${headers}${length}\r\n${body ?? ""}`);
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }
}

/** The variables are those of one worker. The others use its id with a number appended. */
async function work(number: number): Promise<never> {
  const own = (name: string) => new URL(env[name]!.replaceAll(env.RUNPOD_POD_ID!, `${env.RUNPOD_POD_ID}${number}`));
  const takeUrl = own("RUNPOD_WEBHOOK_GET_JOB");
  const doneUrl = env.RUNPOD_WEBHOOK_POST_OUTPUT!.replaceAll(env.RUNPOD_POD_ID!, `${env.RUNPOD_POD_ID}${number}`);
  const pingUrl = own("RUNPOD_WEBHOOK_PING");
  const port = Number(takeUrl.port);
  const [line, pings] = [new Line(port), new Line(port)];
  let current = "";
  const ping = () => pings.ask("GET", pingUrl, `${current === "" ? "" : `&job_id=${current}`}&runpod_version=1.12.0`);
  setInterval(() => void ping(), Number(env.RUNPOD_PING_INTERVAL));
  for (;;) {
    const taken = await line.ask("GET", takeUrl, "&job_in_progress=0");
    if (statusOf(taken) !== 200) continue;
    const job = JSON.parse(bodyOf(taken)) as { id: string; input: unknown };
    current = job.id;
    const url = new URL(doneUrl.replace("$ID", job.id));
    const result = JSON.stringify({ output: job.input });
    while (statusOf(await line.ask("POST", url, "&isStream=false", result)) !== 200);
    current = "";
  }
}

for (let number = 0; number < workers; number++) void work(number);
process.send!({ kind: "ready" });
process.once("disconnect", () => process.exit(0));
