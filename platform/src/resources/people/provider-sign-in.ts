/** Signs people in by the identity provider, in the role that their groups there give them. */
import { hash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import type { Browser } from "../../kernel/operation.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { Asked, Identity, IdentityProvider } from "../../ports/identity/identity-provider.ts";
import type { Limits } from "../../ports/limits/limits.ts";
import type { Accounts } from "../account/accounts.ts";
import type { AuditLog } from "../audit/service.ts";
import { type GroupRule, givenBy, higher } from "./group-rules.ts";
import type { Role } from "./model.ts";
import type { ProviderPeople } from "./provider-people.ts";
import { type Begun, deedOf, type SignInService } from "./sign-in.ts";
import { bind, rebind, SIGN_IN_MS } from "./sign-in-state.ts";
import { digestOf, newToken } from "./tokens.ts";

/** An identity provider, and what the operator has set about it. */
export interface SignOn {
  provider: IdentityProvider;
  rules: readonly GroupRule[];
  /** How long a sign-in lasts. */
  hours: number;
  /** Whether somebody who is not here yet becomes a person. */
  newPeople: boolean;
  /** What the sign-in page calls the provider. */
  label: string;
}

export interface ProviderSignInParts extends SignOn {
  clock: Clock;
  random: Random;
  limits: Limits;
  audit: AuditLog;
  accounts: Accounts;
  people: ProviderPeople;
  signIn: SignInService;
  /** The address that browsers use; by default, the one that each of them came to. */
  publicUrl: string | undefined;
}

interface Place {
  account: string;
  role: Role;
}

const HOUR_MS = 3_600_000;
/** The page of the console to which the provider sends browsers back. */
const RETURN_PATH = "/sign-in/provider";
const MOST_NAMED = 10;

export class ProviderSignIn {
  readonly #parts: ProviderSignInParts;

  constructor(parts: ProviderSignInParts) {
    this.#parts = parts;
  }

  get label(): string {
    return this.#parts.label;
  }

  /** Returns where the browser goes, and the state by which the page knows its own sign-in again. */
  async begin(browser: Browser): Promise<{ url: string; state: string }> {
    const { clock, random, provider, signIn } = this.#parts;
    await signIn.attempts.countAtProvider(browser.address);
    const redirectUri = this.#redirectUri(browser);
    // A browser that signs in from two tabs keeps its secret. Both sign-ins then end well.
    const { pending } = browser;
    const secret = pending !== undefined && digestOf(pending) !== undefined ? pending : newToken(random);
    const asked = bind(secret, newToken(random), clock.now());
    const url = await provider.authorizationUrl({ ...asked, redirectUri });
    browser.await({ secret, forS: SIGN_IN_MS / 1000 });
    return { url, state: asked.state };
  }

  async finish(
    { answer, account }: { answer: string; account?: string | undefined },
    browser: Browser,
  ): Promise<Begun> {
    const { provider, people, signIn, hours } = this.#parts;
    await signIn.attempts.countAtProvider(browser.address);
    const query = new URLSearchParams(answer);
    const identity = await provider.identify(query, await this.#asked(query, browser));
    const places = await this.#placesOf(identity);
    const left = await people.leave(
      identity,
      places.map((place) => place.account),
    );
    for (const person of left) await this.#parts.audit.refused(deedOf(person, "provider", browser), "not-allowed");
    const place = await this.#chosen(identity, places, account);
    const person = await people
      .enter(identity, place.account, place.role)
      .catch((refusal: unknown) => this.#refused(identity, place, browser, refusal));
    return signIn.byProvider(person, browser, hours * HOUR_MS);
  }

  /** Where the browser goes on after its session here has ended. */
  async signOutUrl(browser: Browser): Promise<string | undefined> {
    const { publicUrl = browser.origin, provider } = this.#parts;
    return publicUrl === undefined ? undefined : provider.signOutUrl(`${publicUrl}/sign-in`);
  }

  /** The same for both halves of a sign-in. Providers compare it with what was registered, character by character. */
  #redirectUri({ origin }: Browser): string {
    const { publicUrl } = this.#parts;
    const base = publicUrl ?? origin;
    if (base === undefined || (origin !== undefined && new URL(base).origin !== origin))
      throw problem("rule-broken", `The identity provider sends browsers to ${base}: open the console there.`, {
        reason: "foreign-page",
      });
    return base + RETURN_PATH;
  }

  /** Refuses an answer that another browser asked for, that is too old, or that was sent before. */
  async #asked(query: URLSearchParams, browser: Browser): Promise<Asked> {
    const { clock, limits } = this.#parts;
    const [state = "", ...more] = query.getAll("state");
    const { pending = "" } = browser;
    const bound = digestOf(pending) === undefined ? undefined : rebind(pending, state, clock.now());
    if (!bound || more.length > 0) throw notOurs("it belongs to another browser, or was begun too long ago");
    const once = [{ name: "state", quota: 1, seconds: (2 * SIGN_IN_MS) / 1000 }];
    const { allowed } = await limits.take(`state ${hash("sha256", state, "base64url")}`, once, clock.now());
    if (!allowed) throw notOurs("it was used before");
    return { ...bound, redirectUri: this.#redirectUri(browser) };
  }

  /** The accounts that the groups lead to. Rules may name an account that does not exist yet. */
  async #placesOf({ groups = [] }: Identity): Promise<Place[]> {
    const { rules, accounts } = this.#parts;
    const places = new Map<string, Role>();
    for (const { account: named, role } of givenBy(rules, groups)) {
      const owner = await accounts.ownerOf(named).catch((error: unknown) => {
        if (!isProblem(error, "not-found")) throw error;
      });
      if (owner) places.set(owner.account, higher(places.get(owner.account), role));
    }
    return [...places].map(([account, role]) => ({ account, role }));
  }

  async #chosen({ groups }: Identity, places: readonly Place[], wanted: string | undefined): Promise<Place> {
    const [first] = places;
    if (!first) throw noGroup(groups);
    if (wanted === undefined) return first;
    const asked = await this.#parts.accounts.ownerOf(wanted).catch(() => undefined);
    const place = places.find(({ account }) => account === asked?.account);
    if (!place)
      throw problem("not-allowed", `Your groups do not lead to the account '${wanted}'.`, { reason: "no-group" });
    return place;
  }

  async #refused(identity: Identity, { account }: Place, browser: Browser, refusal: unknown): Promise<never> {
    const person = isProblem(refusal) && (await this.#parts.people.find(identity, account));
    if (person) await this.#parts.audit.refused(deedOf(person, "provider", browser), refusal.code);
    throw refusal;
  }
}

const notOurs = (why: string): Problem =>
  problem("unauthenticated", `This answer of the identity provider cannot be used: ${why}. Begin again.`, {
    reason: "provider-refused",
  });

function noGroup(groups: readonly string[] | undefined): Problem {
  const held =
    groups === undefined
      ? "It sent no groups: the operator should look at MILLRACE_OIDC_GROUPS_CLAIM and MILLRACE_OIDC_SCOPES."
      : `It says that you are in ${listed(groups)}.`;
  return problem("not-allowed", `No group of yours at the identity provider leads to an account here. ${held}`, {
    reason: "no-group",
  });
}

function listed(groups: readonly string[]): string {
  if (groups.length === 0) return "no group";
  const more = groups.length > MOST_NAMED ? ` and ${groups.length - MOST_NAMED} more` : "";
  return groups.slice(0, MOST_NAMED).join(", ") + more;
}
