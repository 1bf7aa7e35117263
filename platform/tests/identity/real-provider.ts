/** A real OpenID provider on loopback: the certified `oidc-provider`, with its own pages for signing in. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { vi } from "vitest";
import { signInAt } from "./at-provider.ts";
import { providerSettings } from "./provider-settings.ts";

export interface PersonThere {
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: string[];
}

export const CLIENT = { clientId: "millrace", clientSecret: "a secret of the client at the provider" };

export class RealProvider implements AsyncDisposable {
  readonly #server: Server;
  readonly issuer: string;
  /** Who can sign in, by login. Any password is right. */
  readonly people = new Map<string, PersonThere>();
  #origin = "";
  #answer: RequestListener = (_, response) => response.writeHead(503).end();

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(people: Record<string, PersonThere> = {}): Promise<RealProvider> {
    const server = createServer((request, response) => void provider.#answer(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const provider = new RealProvider(server);
    for (const [login, person] of Object.entries(people)) provider.people.set(login, person);
    return provider;
  }

  /** Registers the server at this origin as its client. */
  register(origin: string): void {
    this.#origin = origin;
    this.rotate();
  }

  /** Begins anew, with other keys and without anybody's session. */
  rotate(): void {
    // It warns that its pages are for development, which is what they are used for.
    const silent = [vi.spyOn(console, "warn"), vi.spyOn(console, "info")].map((spy) =>
      spy.mockImplementation(() => {}),
    );
    const client = { id: CLIENT.clientId, secret: CLIENT.clientSecret, origin: this.#origin };
    const provider = new Provider(
      this.issuer,
      providerSettings(client, (login) => this.people.get(login)),
    );
    this.#answer = provider.callback();
    for (const spy of silent) spy.mockRestore();
  }

  /** Does what a person does in a browser, and returns the address to which the browser is sent back. */
  signIn(url: string, login: string): Promise<URL> {
    return signInAt(url, login, this.#origin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
