/** How the certified `oidc-provider` is set up as a provider on this machine that takes any password, with its own pages for signing in. */
import { generateKeyPairSync } from "node:crypto";

/** A server that signs people in by the provider. */
export interface ClientThere {
  id: string;
  secret: string;
  /** The address that browsers use for it. */
  origin: string;
}

/** Each one has other keys, and nobody's session. `claimsOf` says what it knows about a person, by their login. */
export function providerSettings({ id, secret, origin }: ClientThere, claimsOf: (login: string) => object | undefined) {
  const jwk = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  return {
    clients: [
      {
        client_id: id,
        client_secret: secret,
        redirect_uris: [`${origin}/sign-in/provider`],
        post_logout_redirect_uris: [`${origin}/sign-in`],
      },
    ],
    jwks: { keys: [{ ...jwk, alg: "RS256", use: "sig" }] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    cookies: { keys: ["a key that protects nothing"] },
    ttl: { Session: 3600, Interaction: 3600, Grant: 3600, AccessToken: 3600, IdToken: 3600 },
    features: { rpInitiatedLogout: { enabled: true, logoutSource } },
    findAccount: (_: unknown, login: string) => ({
      accountId: login,
      claims: () => ({ sub: login, ...claimsOf(login) }),
    }),
  };
}

/** The question whether to sign out, as bare as can be. */
function logoutSource(context: { body: string }, form: string): void {
  context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`;
}
