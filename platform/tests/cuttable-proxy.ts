/** A connection to a server that a test can cut, silence and mend, like a failing network or a restart. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";
import { realClock } from "../src/kernel/clock.ts";

export interface CuttableProxy extends AsyncDisposable {
  url: string;
  /** Ends every connection, and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Swallows every byte from now on. Connections stay open, and new ones are accepted. */
  silence(): void;
  /** New connections work again. The ones that were silenced stay dead. */
  speak(): void;
  /** Every byte arrives this much later, in both directions. */
  delay(ms: number): void;
  /** New connections go to another server, as after a failover. Open ones stay. */
  pointTo(target: string): void;
}

export async function cuttableProxy(target: string): Promise<CuttableProxy> {
  let to = new URL(target);
  const open = new Set<Socket>();
  let server: Server;
  let isSilent = false;
  let delayMs = 0;

  function serve(near: Socket): void {
    if (isSilent) {
      open.add(near);
      near.on("error", () => {}).on("close", () => open.delete(near));
      swallow(near);
      return;
    }
    const far = connect(Number(to.port), to.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(late()).pipe(other);
    }
  }

  /** Passes on what it gets, later if the connection is slow. */
  function late(): Transform {
    return new Transform({
      transform(chunk: Buffer, _, done) {
        if (delayMs === 0) done(null, chunk);
        else realClock.after(delayMs, () => done(null, chunk));
      },
    });
  }

  function swallow(socket: Socket): void {
    socket.unpipe();
    socket.on("data", () => {});
  }

  function listen(port: number): Promise<number> {
    server = createServer(serve);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
    });
  }

  const port = await listen(0);
  async function cut(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  }
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return {
    url: url.href,
    cut,
    mend: async () => void (await listen(port)),
    silence() {
      isSilent = true;
      for (const socket of open) swallow(socket);
    },
    speak() {
      isSilent = false;
    },
    delay(ms) {
      delayMs = ms;
    },
    pointTo(target) {
      to = new URL(target);
    },
    [Symbol.asyncDispose]: cut,
  };
}
