/** A server whose people sign in by an identity provider, and what their browsers do. */
import { OpenIdProvider } from "../../src/adapters/oidc/openid-provider.ts";
import { realClock } from "../../src/kernel/clock.ts";
import type { SignOn } from "../../src/resources/people/provider-sign-in.ts";
import { groupRules } from "../../src/settings/sign-on-settings.ts";
import { TestBrowser } from "../browser.ts";
import { type Answer, setup, type World, type WorldOptions } from "../world.ts";
import { CLIENT, type PersonThere, RealProvider } from "./real-provider.ts";

export const BEGIN = "/v2/account/sign-in/provider/begin";
export const FINISH = "/v2/account/sign-in/provider";
export const RULES = "admins=operator; ml=research:member; guests=research:viewer";

/** The address that a server of a test says it has. */
export const PUBLIC = "https://millrace.test";
export const browserAt = ({ url }: Pick<World, "url">) => new TestBrowser(url, PUBLIC);

export interface SigningOnOptions extends WorldOptions {
  rules?: string;
  newPeople?: boolean;
  trustEmail?: boolean;
  people?: Record<string, PersonThere>;
}

export function signOnWith(issuer: string, { rules = RULES, newPeople = true, trustEmail = false }: SigningOnOptions) {
  const settings = { issuer, ...CLIENT, scopes: "openid email profile groups", groupsClaim: "groups", trustEmail };
  const provider = new OpenIdProvider(settings, { clock: realClock, log: { warn() {} } });
  return { provider, rules: groupRules(rules), hours: 12, newPeople, label: "Example" } satisfies SignOn;
}

export async function setupSigningOn({ people, ...options }: SigningOnOptions = {}) {
  const provider = await RealProvider.open(people);
  const signOn = signOnWith(provider.issuer, options);
  const world = await setup({ ...options, signOn });
  const research = await world.services.accounts.create("research", "boss@research.test");
  provider.register(PUBLIC);
  return {
    ...{ world, provider, research, signOn },
    /** Signs in as this person, and returns the browser with the answer. */
    async enter(login: string, browser = browserAt(world), more: object = {}) {
      const answer = await finishAt(browser, await provider.signIn((await begin(browser)).url, login), more);
      return { browser, answer };
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

export async function begin(browser: TestBrowser): Promise<{ url: string; state: string }> {
  const { status, json, text } = await browser.call("POST", BEGIN);
  if (status !== 200) throw new Error(text);
  return json;
}

export const finishAt = (browser: TestBrowser, back: URL, more: object = {}): Promise<Answer> =>
  browser.call("POST", FINISH, { body: { answer: back.search.slice(1), ...more } });

/** What the audit log of an account says, newest first. */
export async function auditOf({ services }: World, account: string) {
  const { items } = await services.audit.page({ account }, { limit: 50 });
  return items.map(({ doc }) => doc);
}
