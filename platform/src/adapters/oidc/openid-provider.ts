/** Signs people in by OpenID Connect: authorization code with PKCE, and an ID token whose every part is checked. */
import type {
  AuthorizationServer,
  Client,
  ClientAuth,
  HttpRequestOptions,
  IDToken,
  UserInfoResponse,
} from "oauth4webapi";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { isStorable } from "../../kernel/storable.ts";
import type { Asked, Identity, IdentityProvider } from "../../ports/identity/identity-provider.ts";
import { boundedFetch, NoAnswer } from "./bounded-fetch.ts";
import { identityOf, joined, type KnownClaims } from "./claims.ts";

/** It is loaded at the first sign-in, because most servers have no provider. */
const load = () => import("oauth4webapi");
type Library = Awaited<ReturnType<typeof load>>;

/** One sign-in waits for the provider at most this long, over all its requests. */
const WITHIN_MS = 20_000;
/** The provider's addresses are read again after this time. */
const KNOWN_MS = 10 * 60_000;
/** The most sign-ins that wait for the provider at the same time. */
const MOST_AT_ONCE = 100;
/** Clocks of two machines may differ by this much. */
const TOLERANCE_S = 60;
/** OpenID Connect allows no longer names. */
const LONGEST_SUBJECT = 255;

export interface OpenIdSettings extends KnownClaims {
  issuer: string;
  clientId: string;
  clientSecret?: string | undefined;
  scopes: string;
}

export interface OpenIdParts {
  clock: Clock;
  log: Pick<Log, "warn">;
  /** Other than by default, how long one sign-in waits for the provider. */
  withinMs?: number;
}

type Options = HttpRequestOptions<"GET"> & HttpRequestOptions<"POST", URLSearchParams>;

interface Session {
  library: Library;
  server: AuthorizationServer;
  client: Client;
  options: Options;
}

export class OpenIdProvider implements IdentityProvider {
  readonly #settings: OpenIdSettings;
  readonly #parts: OpenIdParts;
  #known: { at: number; server: Promise<AuthorizationServer> } | undefined;
  #atOnce = 0;

  constructor(settings: OpenIdSettings, parts: OpenIdParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  authorizationUrl({ state, nonce, verifier, redirectUri }: Asked): Promise<string> {
    return this.#asking(async ({ library, server }) => {
      const url = new URL(server.authorization_endpoint!);
      const { clientId: client_id, scopes: scope } = this.#settings;
      const challenge = await library.calculatePKCECodeChallenge(verifier);
      const asked = {
        ...{ client_id, scope, state, nonce, redirect_uri: redirectUri, response_type: "code" },
        ...{ code_challenge: challenge, code_challenge_method: "S256" },
      };
      for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
      return url.href;
    });
  }

  identify(answer: URLSearchParams, { state, nonce, verifier, redirectUri }: Asked): Promise<Identity> {
    return this.#asking(async ({ library, server, client, options }) => {
      const checked = library.validateAuthResponse(server, client, answer, state);
      const auth = authOf(library, server, this.#settings.clientSecret);
      const response = await library.authorizationCodeGrantRequest(
        ...([server, client, auth, checked, redirectUri, verifier, options] as const),
      );
      const tokens = await library.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      await library.validateApplicationLevelSignature(server, response, options);
      const claims = library.getValidatedIdTokenClaims(tokens)!;
      const more = await this.#userInfo({ library, server, client, options }, claims, tokens.access_token);
      if (claims.sub.length > LONGEST_SUBJECT || !isStorable(claims.sub)) throw refused("its name for you is too long");
      return identityOf(this.#settings, joined(claims, more));
    });
  }

  async signOutUrl(returnTo: string): Promise<string | undefined> {
    try {
      const { end_session_endpoint: end } = await this.look();
      if (end === undefined) return undefined;
      const url = new URL(end);
      url.searchParams.set("client_id", this.#settings.clientId);
      url.searchParams.set("post_logout_redirect_uri", returnTo);
      return url.href;
    } catch (error) {
      // The session here has ended all the same.
      if (isProblem(error, "unavailable")) return undefined;
      throw error;
    }
  }

  /** Reads what the provider says about itself, or throws why it cannot be used. */
  look(): Promise<AuthorizationServer> {
    return this.#asking(async ({ server }) => server);
  }

  /** Some providers put email and groups only there. The library checks that it is about the same person. */
  async #userInfo({ library, server, client, options }: Session, claims: IDToken, token: string) {
    const isWhole = claims.email !== undefined && identityOf(this.#settings, claims).groups !== undefined;
    if (isWhole || server.userinfo_endpoint === undefined) return {};
    const response = await library.userInfoRequest(server, client, token, options);
    const said: UserInfoResponse = await library.processUserInfoResponse(server, client, claims.sub, response);
    return said;
  }

  async #asking<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#atOnce >= MOST_AT_ONCE) throw away(`${MOST_AT_ONCE} sign-ins wait for it already`);
    this.#atOnce++;
    try {
      const library = await load();
      const options = this.#options(library);
      // The library remembers keys for each such object. A copy makes it read them again, so that no replaced key is in the way.
      const server = { ...(await this.#server(library)) };
      const client = { client_id: this.#settings.clientId, [library.clockTolerance]: TOLERANCE_S };
      return await work({ library, server, client, options });
    } catch (error) {
      throw this.#told(error);
    } finally {
      this.#atOnce--;
    }
  }

  #options(library: Library): Options {
    return {
      [library.customFetch]: boundedFetch(this.#parts.withinMs ?? WITHIN_MS) as never,
      // Settings allow plain HTTP for an issuer on this machine only.
      [library.allowInsecureRequests]: this.#settings.issuer.startsWith("http:"),
    };
  }

  /** Callers that come at once share one request. A failure is not remembered. */
  #server(library: Library): Promise<AuthorizationServer> {
    const now = this.#parts.clock.now();
    if (!this.#known || Math.abs(now - this.#known.at) >= KNOWN_MS) {
      const server = discover(library, this.#settings.issuer, this.#options(library));
      this.#known = { at: now, server };
      server.catch(() => {
        if (this.#known?.server === server) this.#known = undefined;
      });
    }
    return this.#known.server;
  }

  /** The library's errors carry claims and tokens as their cause, so only codes and messages go on. */
  #told(error: unknown): unknown {
    const { code, message, error: word } = error as { code?: unknown; message: string; error?: unknown };
    const known = error instanceof NoAnswer || String(code).startsWith("OAUTH_") || isProblem(error);
    if (!known) return error;
    const told = toldAs(error, String(code), message, wordIn(word));
    this.#parts.log.warn({ issuer: this.#settings.issuer, code, why: message, error: wordIn(word) }, told.message);
    return told;
  }
}

function toldAs(error: unknown, code: string, message: string, word: string | undefined): Problem {
  if (isProblem(error)) return error;
  if (error instanceof NoAnswer) return away(message);
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") return refused(`it answered '${word}'`);
  if (code === "OAUTH_RESPONSE_BODY_ERROR" && word === "invalid_grant")
    return refused("this answer was used before, or is too old");
  if (code === "OAUTH_RESPONSE_BODY_ERROR" || code === "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
    return away(`it refuses this server (${word ?? message}); the operator should check the client's id and secret`);
  if (/METADATA|NOT_CONFORM|NOT_JSON|PARSE|FORBIDDEN/.test(code)) return away(`its answer cannot be used (${message})`);
  return refused(`its answer fails a check (${message})`);
}

/** Error codes of OAuth are words. Anything else may be text that a stranger put into a link. */
const wordIn = (word: unknown): string | undefined =>
  typeof word === "string" && /^\w{1,60}$/.test(word) ? word : undefined;

const away = (why: string): Problem =>
  problem("unavailable", `The identity provider cannot be used now: ${why}. Try again, or sign in another way.`, {
    reason: "provider-away",
    retryAfterS: 5,
  });

const refused = (why: string): Problem =>
  problem("unauthenticated", `The identity provider did not sign you in: ${why}. Begin again on the sign-in page.`, {
    reason: "provider-refused",
  });

async function discover(library: Library, issuer: string, options: Options): Promise<AuthorizationServer> {
  const url = new URL(issuer);
  const response = await library.discoveryRequest(url, { algorithm: "oidc", ...options });
  const server = await library.processDiscoveryResponse(url, response).catch((error: Error) => {
    throw new NoAnswer(`what it says about itself cannot be used (${error.message})`);
  });
  for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const)
    refuseUnsafe(server, name, issuer);
  if (server.end_session_endpoint !== undefined) refuseUnsafe(server, "end_session_endpoint", issuer);
  return server;
}

type Address = "authorization_endpoint" | "token_endpoint" | "jwks_uri" | "end_session_endpoint";

/** The browser is sent to some of these, so they must be addresses of pages and not of programs. */
function refuseUnsafe(server: AuthorizationServer, name: Address, issuer: string): void {
  const url = URL.parse(String(server[name] ?? ""));
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
  if (!isSafe) throw new NoAnswer(`its '${name}' is missing or not https`);
}

function authOf(library: Library, server: AuthorizationServer, secret: string | undefined): ClientAuth {
  if (secret === undefined) return library.None();
  const { token_endpoint_auth_methods_supported: ways = ["client_secret_basic"] } = server;
  return ways.includes("client_secret_basic") ? library.ClientSecretBasic(secret) : library.ClientSecretPost(secret);
}
