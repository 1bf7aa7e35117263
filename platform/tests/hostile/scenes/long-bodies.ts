/** An account tries to fill the server's memory with bodies that never end and answers that it does not read. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { stay } from "../../../src/kernel/clock.ts";
import { sizeOf } from "../requests/size.ts";
import { BODIES_MB, CPU, type Scene, type Stage } from "../stage.ts";

const CONNECTIONS = 60;
const LENGTH = 20_000_000;
/** What is sent of each body. Together the bodies are several times the server's memory for bodies. */
const SENT = Buffer.alloc(LENGTH - 1_000_000, 120);
const QUIET_MS = 1500;
const LOOK_MS = 50;
/** Smaller changes are normal fluctuation. */
const STEP_MB = 4;
/** An allowance for the witness, for garbage that is not collected yet, and for a record made from its result. */
const BESIDE_MB = 128;

async function open({ server }: Stage): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

const headOf = ({ hostile }: Stage, what: string, more = "") =>
  `${what} HTTP/1.1\r\nHost: h\r\nAuthorization: ${hostile.key}\r\n${more}\r\n`;

/** Watches the memory until it stops growing. Fails when it grew by more than the server's memory for bodies. */
async function watchMemory({ server }: Stage, attack: () => Promise<Socket[]>): Promise<void> {
  const pid = server.process.pid!;
  const { rssMb: before } = await sizeOf(pid);
  const sockets = await attack();
  let most = before;
  for (let grewAt = performance.now(); performance.now() - grewAt < QUIET_MS; await stay(LOOK_MS)) {
    const { rssMb } = await sizeOf(pid);
    if (rssMb > most + STEP_MB) grewAt = performance.now();
    most = Math.max(most, rssMb);
    if (most - before > BODIES_MB + BESIDE_MB) break;
  }
  for (const socket of sockets) socket.destroy();
  if (most - before > BODIES_MB + BESIDE_MB) throw new Error(`the server's memory grew by ${most - before} MB`);
}

async function made(stage: Stage, path: string, body: object): Promise<string> {
  const { status, json, text } = await stage.hostile.call("POST", path, body);
  if (status >= 300) throw new Error(`${path} was answered with ${status}: ${text}`);
  return json.id;
}

export const scenes: Scene[] = [
  {
    name: "bodies of 20 MB are sent half, on many connections",
    async attack(stage) {
      const nobody = { name: "bodies", image: "nobody/nothing:1", workers: { min: 0, max: 0 }, ...CPU };
      const endpoint = await made(stage, "/v2/serverless", nobody);
      await watchMemory(stage, async () => {
        const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(stage)));
        for (const socket of sockets) {
          socket.write(headOf(stage, `POST /v2/${endpoint}/runsync`, `Content-Length: ${LENGTH}\r\n`));
          socket.write(SENT);
        }
        return sockets;
      });
      await stage.remove(endpoint);
    },
  },
  {
    name: "large results are asked for on many connections and not read",
    async attack(stage) {
      const endpoint = await stage.hostileEndpoint("large-results");
      const job = await made(stage, `/v2/${endpoint}/run`, { input: {} });
      const { json } = await stage.hostile.call("GET", `/v2/${endpoint}/status-sync/${job}`);
      if (json.status !== "COMPLETED") throw new Error(`the job is ${json.status}`);
      await watchMemory(stage, async () => {
        const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(stage)));
        for (const socket of sockets) socket.write(headOf(stage, `GET /v2/${endpoint}/status/${job}`));
        return sockets;
      });
      await stage.remove(endpoint);
    },
  },
];
