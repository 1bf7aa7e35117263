/** People, invitations, sessions and sign-in in the form of REST v2. */
import type { Caller } from "../../kernel/caller.ts";
import { timestamp } from "../../kernel/clock.ts";
import type { Browser, Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { recordFrom } from "../../kernel/resource.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { Accounts } from "../account/accounts.ts";
import { roleOf } from "../account/model.ts";
import type { CodeLogins } from "./code-logins.ts";
import type { InvitationItem, Invitations } from "./invitations.ts";
import { codeUrl, invitationUrl } from "./links.ts";
import { Invitation, type KeptSession, type Me, Person, type Session } from "./model.ts";
import type { ownOperations, peopleOperations, signInOperations } from "./operations.ts";
import type { People, PersonItem } from "./people.ts";
import type { ProviderSignIn } from "./provider-sign-in.ts";
import type { SelfService } from "./self.ts";
import type { Sessions } from "./sessions.ts";
import type { Begun, SignInService } from "./sign-in.ts";

/** How long the command line waits between two questions. */
const INTERVAL_S = 2;

export interface PeopleServices {
  people: People;
  invitations: Invitations;
  sessions: Sessions;
  accounts: Accounts;
  self: SelfService;
  signIn: SignInService;
  codeLogins: CodeLogins;
  providerSignIn: ProviderSignIn | undefined;
  takesPasswords: boolean;
  publicUrl: () => string;
}

export function peopleHandlers(
  { people, invitations, sessions, publicUrl }: PeopleServices,
  /** Called after keys were revoked. */
  forget: () => void,
): Handlers<typeof peopleOperations> {
  const shownOne = async (item: PersonItem) => shown(item, await sessions.lastSeen(item.account));
  const shownInvitation = async (item: InvitationItem) => invited(item, await invitations.inviterOf(item));
  return {
    async listPeople({ caller }) {
      const [items, seen] = await Promise.all([people.list(caller), sessions.lastSeen(caller.account)]);
      return { people: items.map((item) => shown(item, seen)) };
    },
    getPerson: async ({ caller, params }) => shownOne(await people.get(caller, params.id!)),
    updatePerson: async ({ caller, params, body }) => shownOne(await people.update(caller, params.id!, body)),
    async deletePerson({ caller, params, query: { revokeKeys = false } }) {
      await people.remove(caller, params.id!, { revokeKeys });
      if (revokeKeys) forget();
    },
    endPersonSessions: ({ caller, params }) => people.endSessions(caller, params.id!),
    async listInvitations({ caller }) {
      return { invitations: await Promise.all((await invitations.list(caller)).map(shownInvitation)) };
    },
    async createInvitation({ caller, body }) {
      const { item, token } = await invitations.create(caller, body);
      return { ...(await shownInvitation(item)), url: invitationUrl(publicUrl(), token) };
    },
    deleteInvitation: ({ caller, params }) => invitations.remove(caller, params.id!),
  };
}

export function ownHandlers(services: PeopleServices): Handlers<typeof ownOperations> {
  const { sessions, self, signIn, codeLogins } = services;
  return {
    getMe: ({ caller }) => meOf(services, caller),
    async updateMe({ caller, body }) {
      await self.update(caller, body);
      return meOf(services, caller);
    },
    async listSessions({ caller }) {
      const items = await sessions.listOf(caller.user);
      return { sessions: items.map((item) => shownSession(item, caller)) };
    },
    async endSessions({ caller, query: { others = false }, browser }) {
      await sessions.endAll(caller.user, others ? caller.key : undefined);
      if (!others) browser.keep(undefined);
    },
    endSession: ({ caller, params }) => sessions.end(caller, params.id!),
    async lookAtCodeLogin({ caller, body }) {
      await signIn.attempts.countCodeTried(caller.user);
      const { createdAt, doc } = await codeLogins.look(body.userCode);
      const { device = null, address = null, expiresAt } = doc;
      return { device, address, createdAt: timestamp(createdAt), expiresAt: timestamp(expiresAt) };
    },
    async answerCodeLogin({ caller, body }) {
      await signIn.attempts.countCodeTried(caller.user);
      await codeLogins.answer(caller, body);
    },
  };
}

export function signInHandlers(services: PeopleServices): Handlers<typeof signInOperations> {
  const { signIn, invitations, people, codeLogins, providerSignIn, takesPasswords } = services;
  const provider = () => {
    if (!providerSignIn)
      throw problem("rule-broken", "No identity provider is set: see MILLRACE_OIDC_ISSUER.", {
        reason: "provider-off",
      });
    return providerSignIn;
  };
  const entered = async (browser: Browser, begin: () => Promise<Begun>) => {
    refuseHindered(browser);
    const { secret, forMs, pageToken, caller } = await begin();
    browser.keep({ secret, forS: Math.floor(forMs / 1000) });
    return { pageToken, me: await meOf(services, caller) };
  };
  return {
    async getSignIn({ browser: { hindrance } }) {
      const passwordSet = await signIn.isPasswordSet();
      const ways = { passwordSet, passwords: takesPasswords };
      const shownProvider = providerSignIn ? { label: providerSignIn.label } : null;
      return { ...ways, provider: shownProvider, possible: hindrance === undefined, reason: hindrance ?? null };
    },
    signIn: ({ body, browser }) => entered(browser, () => signIn.byPassword(body, browser)),
    signInByLink: ({ body, browser }) => entered(browser, () => signIn.byLink(body.token, browser)),
    signInByInvitation: ({ body, browser }) => entered(browser, () => signIn.byInvitation(body, browser)),
    async beginSignInByProvider({ browser }) {
      refuseHindered(browser);
      return provider().begin(browser);
    },
    signInByProvider: ({ body, browser }) => entered(browser, () => provider().finish(body, browser)),
    async beginCodeLogin({ body, browser }) {
      await signIn.attempts.countCode(browser.address);
      const codes = await codeLogins.begin(body.device, browser);
      const url = codeUrl(services.publicUrl(), codes.userCode);
      return { ...codes, url, intervalS: INTERVAL_S };
    },
    async collectCodeLogin({ body, browser }) {
      const begun = await signIn.byCode(body.deviceCode, browser);
      if (!begun) return undefined;
      const me = await meOf(services, begun.caller);
      return { key: begun.secret, me };
    },
    async lookAtInvitation({ body }) {
      const item = await invitations.find(body.token);
      const { doc } = await people.accountOf(item);
      const { role, email, invitedBy, expiresAt } = invited(item, await invitations.inviterOf(item));
      return { account: { id: item.account, name: doc.name }, role, email, invitedBy, expiresAt };
    },
    async signOut({ browser }) {
      const by = await signIn.signOut(browser.session, browser);
      browser.keep(undefined);
      const url = by === "provider" ? await providerSignIn?.signOutUrl(browser) : undefined;
      return url === undefined ? undefined : { url };
    },
  };
}

function refuseHindered({ hindrance }: Browser): void {
  if (hindrance !== undefined) throw problem("rule-broken", hindrance, { reason: "needs-https" });
}

async function meOf({ people, sessions, self, accounts }: PeopleServices, caller: Caller): Promise<Me> {
  const { account, key, keyName = null, grants, endpoints, person } = caller;
  const { doc } = await people.accountOf(caller);
  // Who has just signed in is not known to the guards yet.
  const ownsInstallation = grants.includes("all") && !endpoints && (await accounts.isFirst(account));
  return {
    type: person ? "person" : "key",
    person: person ? shownSelf(await self.get(caller)) : null,
    session: person ? shownStanding((await sessions.byId(key))?.session) : null,
    key: person ? null : { id: key, name: keyName },
    account: { id: account, name: doc.name },
    scopes: [...grants],
    endpoints: endpoints ? [...endpoints] : null,
    ownsInstallation,
  };
}

function shownSelf({ id, doc }: PersonItem): Me["person"] {
  const { email, name = null } = doc;
  return {
    id,
    email,
    name,
    role: roleOf(doc),
    passwordSet: doc.password !== undefined,
    byProvider: doc.provider !== undefined,
  };
}

function shownStanding(session: Item<KeptSession> | undefined): Me["session"] {
  if (!session) return null;
  const { id, createdAt, doc } = session;
  return { id, createdAt: timestamp(createdAt), expiresAt: timestamp(doc.expiresAt), signedInBy: doc.signedInBy };
}

function shown({ id, createdAt, doc }: PersonItem, seen: ReadonlyMap<string, number>): Person {
  const { email, name = null, disabled = false, password, provider } = doc;
  const seenAt = seen.get(id);
  return recordFrom(Person, {
    ...{ id, email, name, disabled, role: roleOf(doc), passwordSet: password !== undefined },
    byProvider: provider !== undefined,
    createdAt: timestamp(createdAt),
    lastSeenAt: seenAt === undefined ? null : timestamp(seenAt),
  });
}

function invited({ id, createdAt, doc }: InvitationItem, invitedBy: string | undefined): Invitation {
  const { role, email = null, expiresAt } = doc;
  const times = { createdAt: timestamp(createdAt), expiresAt: timestamp(expiresAt) };
  return recordFrom(Invitation, { id, role, email, invitedBy: invitedBy ?? null, ...times });
}

function shownSession({ id, createdAt, doc }: Item<KeptSession>, { key }: Caller): Session {
  const { lastUsedAt, expiresAt, address = null, userAgent = null, signedInBy } = doc;
  const times = { createdAt: timestamp(createdAt), lastUsedAt: timestamp(lastUsedAt), expiresAt: timestamp(expiresAt) };
  return { id, ...times, address, userAgent, signedInBy, current: id === key };
}
