/** Opens the identity provider that the settings name. Settings that contradict each other are refused at the start. */
import { readFileSync } from "node:fs";
import type { OpenIdParts, OpenIdProvider } from "../adapters/oidc/openid-provider.ts";
import { type Finding, fail, ok } from "../kernel/finding.ts";
import { isProblem } from "../kernel/problem.ts";
import type { SignOn } from "../resources/people/provider-sign-in.ts";
import type { Settings } from "../settings/settings.ts";

/** Returns undefined if no provider is set. The provider is not asked, so that one that is away does not stop the server. */
export async function openSignOn(settings: Settings, parts: OpenIdParts): Promise<SignOn | undefined> {
  const provider = await providerOf(settings, parts);
  if (!provider) return undefined;
  const { oidcGroups: rules = [], oidcHours: hours, oidcNewPeople, oidcLabel: label } = settings;
  return { provider, rules, hours, label, newPeople: oidcNewPeople === "on" };
}

/** Says whether the provider can be used. */
export async function lookAtProvider(settings: Settings, clock: OpenIdParts["clock"]): Promise<Finding> {
  const provider = await providerOf(settings, { clock, log: { warn() {} } });
  if (!provider) return ok("no identity provider is set (MILLRACE_OIDC_ISSUER)");
  try {
    const { issuer, code_challenge_methods_supported: ways } = await provider.look();
    if (ways && !ways.includes("S256")) return fail(`${issuer} does not know PKCE with S256`, "Turn PKCE on there.");
    return ok(`${issuer} answers`);
  } catch (error) {
    if (!isProblem(error)) throw error;
    return fail(error.message, "Open the issuer's address with /.well-known/openid-configuration behind it.");
  }
}

/** Only a server with a provider loads what speaks to one. */
async function providerOf(settings: Settings, parts: OpenIdParts): Promise<OpenIdProvider | undefined> {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcGroups, passwordSignIn } = settings;
  if (issuer === undefined) {
    const alone = ["oidcClientId", "oidcClientSecret", "oidcClientSecretFile", "oidcGroups"] as const;
    const set = alone.find((name) => settings[name] !== undefined);
    if (set) throw new Error(`${VARIABLES[set]} is set, but MILLRACE_OIDC_ISSUER is not: set both or neither`);
    if (passwordSignIn === "off")
      throw new Error("MILLRACE_PASSWORD_SIGN_IN=off needs MILLRACE_OIDC_ISSUER: without it nobody could sign in");
    return undefined;
  }
  if (clientId === undefined) throw new Error("MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_CLIENT_ID beside it");
  if (!oidcGroups)
    throw new Error("MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_GROUPS beside it: it says who may do what");
  const { oidcScopes: scopes, oidcGroupsClaim: groupsClaim, oidcTrustEmail } = settings;
  const about = { issuer, clientId, scopes, groupsClaim, trustEmail: oidcTrustEmail === "on" };
  const clientSecret = secretIn(settings);
  const { OpenIdProvider } = await import("../adapters/oidc/openid-provider.ts");
  return new OpenIdProvider({ ...about, clientSecret }, parts);
}

const VARIABLES = {
  oidcClientId: "MILLRACE_OIDC_CLIENT_ID",
  oidcClientSecret: "MILLRACE_OIDC_CLIENT_SECRET",
  oidcClientSecretFile: "MILLRACE_OIDC_CLIENT_SECRET_FILE",
  oidcGroups: "MILLRACE_OIDC_GROUPS",
};

function secretIn({ oidcClientSecret: secret, oidcClientSecretFile: file }: Settings): string | undefined {
  if (file === undefined) return secret;
  if (secret !== undefined)
    throw new Error(
      `${VARIABLES.oidcClientSecret} and ${VARIABLES.oidcClientSecretFile} are both set: set one of them`,
    );
  const written = readSecret(file);
  if (written === "") throw new Error(`${file} is empty: it must hold the client's secret`);
  return written;
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${file}, named by ${VARIABLES.oidcClientSecretFile}, cannot be read (${code})`, { cause });
  }
}
