/** Where SSH is served, once it listens: its library is loaded after the rest of the server is up. */
import type { SshHostKey } from "../../resources/ssh/host-key.ts";
import type { SshServer, SshServerParts } from "./server.ts";

export interface SshListenerParts extends SshServerParts {
  sshHostKey: SshHostKey;
  /** The operator's setting of where clients reach SSH. */
  sshAddress?: { host: string; port?: number } | undefined;
  /** Without that setting, clients reach SSH at the same host as the rest. */
  publicUrl: () => string;
}

export class SshListener implements AsyncDisposable {
  readonly #parts: SshListenerParts;
  #opening: Promise<number> | undefined;
  #server: SshServer | undefined;
  #port: number | undefined;
  #isClosed = false;
  #host: { url: string; name: string } | undefined;

  constructor(parts: SshListenerParts) {
    this.#parts = parts;
  }

  /** Where clients reach SSH. Undefined if nothing listens, unless the operator's setting names a port. */
  get address(): { host: string; port: number } | undefined {
    const { sshAddress: said, publicUrl } = this.#parts;
    const port = said?.port ?? this.#port;
    if (port === undefined) return undefined;
    return { host: said?.host ?? this.#hostIn(publicUrl()), port };
  }

  /** Cached, since every Pod of a list asks. */
  #hostIn(url: string): string {
    if (this.#host?.url !== url) this.#host = { url, name: new URL(url).hostname.replace(/^\[|\]$/g, "") };
    return this.#host.name;
  }

  /** Tries one port after another; 0 means any port. Rejects with the error of the last one. */
  open(host: string, ports: readonly number[]): Promise<number> {
    this.#opening = this.#open(host, ports);
    return this.#opening;
  }

  async #open(host: string, ports: readonly number[]): Promise<number> {
    const { SshServer } = await import("./server.ts");
    if (this.#isClosed) throw new Error("the server ends");
    const seed = await this.#parts.sshHostKey.seed();
    for (const [index, port] of ports.entries()) {
      const server = new SshServer(seed, this.#parts);
      try {
        this.#port = await server.listen({ port, host });
        this.#server = server;
        break;
      } catch (error) {
        await server[Symbol.asyncDispose]();
        if (index === ports.length - 1) throw error;
      }
    }
    return this.#port!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    this.#port = undefined;
    await this.#server?.[Symbol.asyncDispose]();
  }
}
