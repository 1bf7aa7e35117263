/** The settings of sign-in: an OpenID Connect provider, what its groups may do here, and passwords. */
import type { GroupRule } from "../resources/people/group-rules.ts";
import { folder, oneOf, text, whole } from "./setting-values.ts";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Tokens and the client's secret go there, so it must be encrypted unless it stays on this machine. */
function issuer(given: string): string {
  const url = URL.parse(given);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  if (!isSafe || url.username !== "" || url.search !== "" || url.hash !== "")
    throw new Error("must be the https URL of an OpenID Connect issuer such as https://id.example.com/realms/main");
  return given;
}

function scopes(given: string): string {
  const all = given.trim().split(/[\s,]+/);
  if (!all.includes("openid") || all.length > 20 || !all.every((one) => /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(one)))
    throw new Error("must be scopes with spaces between, one of them openid");
  return all.join(" ");
}

const RULE = /^(.+)=(?:(operator)|([^=:]+):(owner|member|viewer))$/;
const MOST_RULES = 500;
const LONGEST = 256;

/** A group may contain `=` and `,`, as names of directories do. Rules therefore have semicolons between them. */
export function groupRules(given: string): GroupRule[] {
  const rules = given
    .split(/[;\n]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
  if (rules.length === 0 || rules.length > MOST_RULES) throw wrongRules();
  return rules.map((one) => {
    const [, group = "", operator, account = "", role] = RULE.exec(one) ?? [];
    if (group.trim() === "" || group.length > LONGEST) throw wrongRules();
    if (operator) return { group: group.trim(), role: "owner" };
    return { group: group.trim(), account: account.trim(), role: role as GroupRule["role"] };
  });
}

const wrongRules = () =>
  new Error(
    `must be up to ${MOST_RULES} rules such as 'ml=research:member; admins=operator', with owner, member or viewer`,
  );

function label(given: string): string {
  const clean = given.trim();
  if (clean === "" || clean.length > 60) throw new Error("must have 1 to 60 characters");
  return clean;
}

export const signOnSettings = {
  oidcIssuer: {
    flag: "oidc-issuer",
    variable: "MILLRACE_OIDC_ISSUER",
    value: "URL",
    about: "OpenID Connect issuer by which people sign in; default: none",
    read: issuer,
  },
  oidcClientId: {
    flag: "oidc-client-id",
    variable: "MILLRACE_OIDC_CLIENT_ID",
    value: "ID",
    about: "name of this server at the issuer",
    read: text,
  },
  oidcClientSecret: {
    secret: true as const,
    variable: "MILLRACE_OIDC_CLIENT_SECRET",
    value: "SECRET",
    about: "secret of this server at the issuer; default: none, for a public client",
    read: text,
  },
  oidcClientSecretFile: {
    flag: "oidc-client-secret-file",
    variable: "MILLRACE_OIDC_CLIENT_SECRET_FILE",
    value: "FILE",
    about: "file with the same secret",
    read: folder,
  },
  oidcScopes: {
    flag: "oidc-scopes",
    variable: "MILLRACE_OIDC_SCOPES",
    value: "SCOPES",
    default: "openid email profile",
    about: "scopes to ask the issuer for; some issuers send groups only for a scope such as groups",
    read: scopes,
  },
  oidcGroupsClaim: {
    flag: "oidc-groups-claim",
    variable: "MILLRACE_OIDC_GROUPS_CLAIM",
    value: "NAME",
    default: "groups",
    about: "claim that lists a person's groups; dots lead into objects, as in realm_access.roles",
    read: text,
  },
  oidcGroups: {
    flag: "oidc-groups",
    variable: "MILLRACE_OIDC_GROUPS",
    value: "RULES",
    about:
      "account and role that each group gives, such as 'ml=research:member; admins=operator'; the group * is everybody; operator is owner of the first account",
    read: groupRules,
  },
  oidcNewPeople: {
    flag: "oidc-new-people",
    variable: "MILLRACE_OIDC_NEW_PEOPLE",
    value: "WHETHER",
    default: "on",
    about: "on makes a person at their first sign-in by the issuer; off lets in only people who are already there",
    read: oneOf(["on", "off"]),
  },
  oidcTrustEmail: {
    flag: "oidc-trust-email",
    variable: "MILLRACE_OIDC_TRUST_EMAIL",
    value: "WHETHER",
    default: "off",
    about: "on takes every email address of the issuer as verified, for issuers that do not send email_verified",
    read: oneOf(["off", "on"]),
  },
  oidcHours: {
    flag: "oidc-hours",
    variable: "MILLRACE_OIDC_HOURS",
    value: "HOURS",
    default: "12",
    about:
      "how long a sign-in by the issuer lasts, in the console and on the command line, before groups are read again",
    read: whole(1, 720),
  },
  oidcLabel: {
    flag: "oidc-label",
    variable: "MILLRACE_OIDC_LABEL",
    value: "TEXT",
    default: "single sign-on",
    about: "what the button on the sign-in page calls the issuer, after 'Sign in with'",
    read: label,
  },
  passwordSignIn: {
    flag: "password-sign-in",
    variable: "MILLRACE_PASSWORD_SIGN_IN",
    value: "WHETHER",
    default: "on",
    about:
      "off refuses passwords and invitations, so that people sign in by the issuer or by a link of 'millrace open'",
    read: oneOf(["on", "off"]),
  },
};
