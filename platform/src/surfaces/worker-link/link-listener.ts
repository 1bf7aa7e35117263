/** Serves the worker link at several addresses of this machine: its end of each network that workers are on. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { FastifyInstance } from "fastify";

export class LinkListener {
  readonly #link: FastifyInstance;
  readonly #ports = new Map<string, number>();
  readonly #doors: Server[] = [];
  #opening: Promise<unknown> = Promise.resolve();

  constructor(link: FastifyInstance) {
    this.#link = link;
  }

  /** Listens at this address, at the wanted port if it is free, and resolves with the port; an address that is open stays as it is. */
  open(host: string, wanted: number): Promise<number> {
    // One after another: only one of them can be the server's own.
    const opened = this.#opening.then(async () => {
      const port = this.#ports.get(host) ?? (await this.#listen(host, wanted).catch(() => this.#listen(host, 0)));
      this.#ports.set(host, port);
      return port;
    });
    this.#opening = opened.catch(() => {});
    return opened;
  }

  async #listen(host: string, port: number): Promise<number> {
    // One server listens at one address. What comes in at the others is handed to it.
    if (!this.#link.server.listening) {
      await this.#link.listen({ host, port });
      return portOf(this.#link.server);
    }
    const door = createServer((connection) => this.#link.server.emit("connection", connection));
    door.listen(port, host);
    await once(door, "listening");
    this.#doors.push(door);
    return portOf(door);
  }

  /** Nobody comes in any more. Who is in, leaves with the link. */
  close(): void {
    for (const door of this.#doors) door.close();
  }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
