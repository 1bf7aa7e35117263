/** A real OpenID provider on loopback: the certified `oidc-provider`, with its own pages for signing in. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { vi } from "vitest";

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
    const jwk = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.clientId,
          client_secret: CLIENT.clientSecret,
          redirect_uris: [`${this.#origin}/sign-in/provider`],
          post_logout_redirect_uris: [`${this.#origin}/sign-in`],
        },
      ],
      jwks: { keys: [{ ...jwk, alg: "RS256", use: "sig" }] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
      cookies: { keys: ["a key of a test"] },
      ttl: { Session: 3600, Interaction: 3600, Grant: 3600, AccessToken: 3600, IdToken: 3600 },
      features: { rpInitiatedLogout: { enabled: true, logoutSource } },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...this.people.get(id) }),
      }),
    });
    this.#answer = provider.callback();
    for (const spy of silent) spy.mockRestore();
  }

  /** Does what a person does in a browser, and returns the address to which the browser is sent back. */
  async signIn(url: string, login: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let next: { url: URL; body?: URLSearchParams } = { url: new URL(url) };
    for (let steps = 0; steps < 20; steps++) {
      if (next.url.origin === this.#origin) return next.url;
      const answer = await fetch(next.url, {
        redirect: "manual",
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
        ...(next.body && { method: "POST", body: next.body }),
      });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const text = await answer.text();
      next = nextOf(answer, next.url, text, login);
    }
    throw new Error("the provider leads in a circle");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The question whether to sign out, as bare as can be. */
function logoutSource(context: { body: string }, form: string): void {
  context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`;
}

function nextOf(answer: Response, from: URL, text: string, login: string) {
  const location = answer.headers.get("location");
  if (location !== null) return { url: new URL(location, from) };
  const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
  const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
  if (action === undefined || prompt === undefined) throw new Error(`the provider says ${answer.status}: ${text}`);
  return { url: new URL(action, from), body: new URLSearchParams({ prompt, login, password: "x" }) };
}
