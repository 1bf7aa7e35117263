/** A provider that answers as a test tells it: with forged, foreign, late, endless or contradicting tokens. */
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CLIENT } from "./real-provider.ts";

const b64 = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString("base64url");
const newKey = () => generateKeyPairSync("rsa", { modulusLength: 2048 });

export interface Token {
  header?: object;
  claims?: Record<string, unknown>;
  /** Signs with this key instead of the published one. */
  key?: KeyObject;
  /** Signs in another way, with the published key as the provider writes it. */
  sign?: (signed: string, published: KeyObject) => string;
}

export class HostileProvider implements AsyncDisposable {
  readonly #server: Server;
  readonly issuer: string;
  #key = newKey();
  /** Changes what the provider says about itself. */
  metadata: Record<string, unknown> = {};
  /** Changes the ID token of the next sign-ins. */
  token: Token = {};
  userInfo: Record<string, unknown> = {};
  /** Answers requests to a path in place of the usual answer. */
  readonly instead = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  /** The nonce of the sign-in under way. A provider learns it from the browser. */
  nonce = "";

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(): Promise<HostileProvider> {
    const server = createServer((request, response) => provider.#answer(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const provider = new HostileProvider(server);
    return provider;
  }

  strangersKey(): { privateKey: KeyObject; publicKey: KeyObject } {
    return newKey();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!.split("?", 1)[0]!;
    const other = this.instead.get(path);
    if (other) {
      other(request, response);
      return;
    }
    const answers: Record<string, () => object> = {
      "/.well-known/openid-configuration": () => this.#about(),
      "/jwks": () => ({
        keys: [{ ...this.#key.publicKey.export({ format: "jwk" }), alg: "RS256", use: "sig", kid: "1" }],
      }),
      "/token": () => ({ access_token: "a", token_type: "Bearer", id_token: this.#idToken() }),
      "/userinfo": () => ({ sub: "ada", ...this.userInfo }),
    };
    const answer = answers[path];
    response.writeHead(answer ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answer?.() ?? {}));
  }

  #about() {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      end_session_endpoint: `${issuer}/end`,
      id_token_signing_alg_values_supported: ["RS256", "none", "HS256"],
      ...this.metadata,
    };
  }

  #idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      ...{ iss: this.issuer, aud: CLIENT.clientId, sub: "ada", nonce: this.nonce, iat: now, exp: now + 300 },
      ...{ email: "ada@example.com", email_verified: true, groups: ["ml"], ...this.token.claims },
    };
    const signed = `${b64({ alg: "RS256", kid: "1", ...this.token.header })}.${b64(claims)}`;
    const made = createSign("sha256")
      .update(signed)
      .sign(this.token.key ?? this.#key.privateKey);
    return `${signed}.${this.token.sign?.(signed, this.#key.publicKey) ?? b64(made)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
