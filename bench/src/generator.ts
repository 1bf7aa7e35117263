/** The load generator: one process, raw sockets, one request at a time on each. It is the same for every stack. */
import { connect, type Socket } from "node:net";
import { Histogram } from "./histogram.ts";
import { isWhole } from "./http-answer.ts";
import { BODY, type LoadSettings } from "./workload.ts";

const settings = JSON.parse(process.argv[2]!) as LoadSettings;
const { target, connections, warmupMs, measureMs, most = Number.POSITIVE_INFINITY, rate } = settings;

const request = Buffer.from(
  [
    `POST ${target.path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    ...Object.entries(target.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(BODY)}`,
    "",
    BODY,
  ].join("\r\n"),
);

const histogram = new Histogram();
let sent = 0;
let answered = 0;
let accepted = 0;
let refused = 0;
let example: string | undefined;
let measuredFrom = 0;
let counted = 0;
let stopping = false;
let lastInterval = { accepted: 0, at: 0 };

class Connection {
  readonly #socket: Socket;
  #sentAt = 0;
  #received: Buffer | undefined;
  busy = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.#take(chunk as Buffer));
    socket.on("error", (error) => end(`a connection broke: ${error.message}`));
    socket.on("close", () => end("the server closed a connection"));
  }

  send(intendedAt: number): void {
    this.#sentAt = intendedAt;
    this.busy = true;
    sent++;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners("close");
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    const received = this.#received ? Buffer.concat([this.#received, chunk]) : chunk;
    if (!isWhole(received)) {
      this.#received = received;
      return;
    }
    this.#received = undefined;
    this.busy = false;
    answered++;
    const succeeded = received[9] === 0x32 && (target.expects === undefined || received.includes(target.expects));
    if (succeeded) accepted++;
    else {
      refused++;
      example ??= received.toString("utf8", 0, 500);
    }
    if (measuredFrom > 0 && !stopping) {
      if (succeeded) counted++;
      histogram.record(performance.now() - this.#sentAt);
    }
    next(this);
  }
}

/** The due times of requests that found no free connection. */
const late: number[] = [];

function next(connection: Connection): void {
  if (stopping || sent >= most) {
    if (answered === sent) finish();
    return;
  }
  if (rate === undefined) connection.send(performance.now());
  else {
    const due = late.shift();
    if (due !== undefined) connection.send(due);
  }
}

/** Latency counts from when a request was due, so that a stalled server cannot hide it. */
function paceRequests(all: Connection[], perSecond: number): void {
  let dueAt = performance.now();
  const tick = () => {
    if (stopping) return;
    for (const now = performance.now(); dueAt <= now; dueAt += 1000 / perSecond) {
      const free = all.find(({ busy }) => !busy);
      if (free) free.send(dueAt);
      else late.push(dueAt);
    }
    setTimeout(tick, 1);
  };
  tick();
}

function reportInterval(): void {
  const now = performance.now();
  process.send!({
    kind: "interval",
    rate: ((accepted - lastInterval.accepted) * 1000) / (now - lastInterval.at),
    late: late.length,
    latencyMs: histogram.summary(),
  });
  lastInterval = { accepted, at: now };
  histogram.clear();
}

/** On a busy machine a second is too short to warm up, so a number of requests must have been answered as well. */
function measureWhenWarm(): void {
  if (accepted >= WARM_AFTER * (connections / 64) || performance.now() > startedAt + LONGEST_WARMUP_MS) measure();
  else setTimeout(measureWhenWarm, 50);
}

const WARM_AFTER = 20_000;
const LONGEST_WARMUP_MS = 10_000;
const startedAt = performance.now();

function measure(): void {
  process.send!({ kind: "measuring" });
  measuredFrom = performance.now();
  lastInterval = { accepted, at: measuredFrom };
  if (rate !== undefined) setInterval(reportInterval, 10_000).unref();
  setTimeout(stop, measureMs);
}

let stoppedAt = 0;

function stop(): void {
  if (stopping) return;
  stopping = true;
  stoppedAt = performance.now();
  process.send!({ kind: "measured" });
  if (answered === sent) finish();
}

function finish(): void {
  if (!stopping) stop();
  if (finished) return;
  finished = true;
  for (const connection of all) connection.close();
  const seconds = (stoppedAt - measuredFrom) / 1000;
  const latencyMs = histogram.summary();
  process.send!({ kind: "done", report: { count: counted, seconds, accepted, refused, example, latencyMs } });
}

let finished = false;

function end(reason: string): void {
  if (finished) return;
  console.error(`generator: ${reason}`);
  process.exit(1);
}

const all = await Promise.all(
  Array.from(
    { length: connections },
    () =>
      new Promise<Connection>((resolve, reject) => {
        const socket = connect(target.port, "127.0.0.1", () => {
          socket.removeListener("error", reject);
          resolve(new Connection(socket));
        });
        socket.once("error", reject);
      }),
  ),
);
process.send!({ kind: "ready" });
process.once("message", () => {
  if (warmupMs > 0) setTimeout(measureWhenWarm, warmupMs);
  else measure();
  if (rate !== undefined) paceRequests(all, rate);
  else for (const connection of all) next(connection);
});
process.once("disconnect", () => process.exit(0));
