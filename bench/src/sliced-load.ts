/** Sends load in short slices over connections that stay open, from the measuring process. */
import { connect, type Socket } from "node:net";
import { isWhole } from "./http-answer.ts";
import { CONNECTIONS } from "./phases.ts";
import { BODY, type Target } from "./workload.ts";

/** Connections that stay open between slices, each with one request at a time. */
export class SlicedLoad {
  readonly #port: number;
  #sockets: Socket[];
  readonly #request: Buffer;
  readonly #expects: string | undefined;
  #left = 0;
  #underWay = 0;
  #over: () => void = () => {};
  #failed: (error: Error) => void = () => {};

  private constructor(sockets: Socket[], { port, path, headers, expects }: Target) {
    this.#port = port;
    this.#sockets = sockets;
    this.#expects = expects;
    const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${named.join("")}`;
    this.#request = Buffer.from(`${head}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`);
    for (const socket of sockets) this.#serve(socket);
  }

  static async open(target: Target): Promise<SlicedLoad> {
    const opened = Array.from({ length: CONNECTIONS }, () => opening(target.port));
    return new SlicedLoad(await Promise.all(opened), target);
  }

  /** Sends this many requests and resolves when all are answered. Slices of equal work are comparable however fast the machine is now. */
  async run(count: number): Promise<void> {
    this.#sockets = await Promise.all(this.#sockets.map((socket) => (socket.destroyed ? this.#again() : socket)));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#left = count;
    this.#over = resolve;
    this.#failed = reject;
    for (const socket of this.#sockets) if (this.#left > 0) this.#send(socket);
    await promise;
  }

  async #again(): Promise<Socket> {
    const socket = await opening(this.#port);
    this.#serve(socket);
    return socket;
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners("close").destroy();
  }

  #send(socket: Socket): void {
    this.#left--;
    this.#underWay++;
    socket.write(this.#request);
  }

  #serve(socket: Socket): void {
    let received: Buffer | undefined;
    socket.on("error", (error) => this.#failed(error));
    // Between two slices it may: the other sides can take longer than the server keeps an idle connection.
    socket.on("close", () => {
      if (this.#underWay > 0) this.#failed(new Error("the server closed a connection"));
    });
    socket.on("data", (chunk: Buffer) => {
      received = received ? Buffer.concat([received, chunk]) : chunk;
      if (!isWhole(received)) return;
      const answer = received;
      received = undefined;
      this.#answered(socket, answer);
    });
  }

  #answered(socket: Socket, answer: Buffer): void {
    this.#underWay--;
    const isSuccess = answer[9] === 0x32 && (this.#expects === undefined || answer.includes(this.#expects));
    if (!isSuccess) this.#failed(new Error(`no success: ${answer.toString("utf8", 0, 500)}`));
    if (this.#left > 0) this.#send(socket);
    else if (this.#underWay === 0) this.#over();
  }
}

async function opening(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
}
