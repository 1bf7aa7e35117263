/** Serves workers on several addresses of this machine: its end of each network that they are on. */

import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Log } from "../../kernel/log.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { type HttpServer, survive } from "../http/server.ts";

export class LinkListener {
  readonly #create: () => HttpServer;
  readonly #log: Log;
  #link: HttpServer | undefined;
  readonly #ports = new Map<string, number>();
  readonly #doors: Server[] = [];
  readonly #opening = new OneAtATime();

  /** The server is made with the first address. If workers reach the main server directly, none is made. */
  constructor(create: () => HttpServer, log: Log) {
    this.#create = create;
    this.#log = log;
  }

  /** The server, once an address was opened. */
  get server(): HttpServer | undefined {
    return this.#link;
  }

  /** Listens on this address, at the wanted port if it is free. Resolves with the port. An address that is already open stays unchanged. */
  open(host: string, wanted: number): Promise<number> {
    // Addresses are opened one after another, since only one of them can be the server's own.
    return this.#opening.run(async () => {
      const port = this.#ports.get(host) ?? (await this.#listen(host, wanted).catch(() => this.#listen(host, 0)));
      this.#ports.set(host, port);
      return port;
    });
  }

  async #listen(host: string, port: number): Promise<number> {
    this.#link ??= this.#create();
    const link = this.#link;
    // One server listens on one address. Connections to the other addresses are handed to it.
    if (!link.server.listening) {
      await link.listen({ host, port });
      return portOf(link.server);
    }
    const door = createServer((connection) => link.server.emit("connection", connection));
    survive(door, this.#log);
    door.listen(port, host);
    await once(door, "listening");
    // The error is ignored: a client whose connection was not accepted tries again.
    door.on("error", () => {});
    this.#doors.push(door);
    return portOf(door);
  }

  /** Accepts no new connections. Open ones end with the link. */
  close(): void {
    for (const door of this.#doors) door.close();
  }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
