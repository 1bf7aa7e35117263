/** Operations on the people of an account, on the caller's own sessions, and for signing in from a browser. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { t } from "../../kernel/schema.ts";
import {
  AnswerCodeLogin,
  BeginCodeLogin,
  CodeLogin,
  CodeLoginSeen,
  CodeSession,
  CollectCodeLogin,
  CreatedInvitation,
  Invitation,
  InvitationSeen,
  LookAtCodeLogin,
  LookAtInvitation,
  Me,
  Person,
  ProviderAsked,
  Session,
  SignedIn,
  SignedOut,
  SignIn,
  SignInByInvitation,
  SignInByLink,
  SignInByProvider,
  SignInState,
  UpdateMe,
} from "./model.ts";

const tag = "People";
const common = { tag, scope: "account" } as const;
const people = operationsOn(Person, "/v2/account/people", { ...common, one: "a person", many: "people" });
const invited = operationsOn(Invitation, "/v2/account/invitations", {
  ...common,
  one: "an invitation",
  many: "invitations",
});

const NOT_BEYOND = "Nobody gives, changes or takes away a role that may do more than they may themselves.";

export const peopleOperations = {
  listPeople: people.find({}, { summary: "List the people of the account" }),
  getPerson: people.get(),
  updatePerson: people.update({
    description: `A role counts from the next request on; a person who is disabled is out at once. ${NOT_BEYOND}`,
  }),
  deletePerson: {
    ...people.remove({
      summary: "Remove a person",
      description: `Every session of the person ends at once. ${NOT_BEYOND}`,
      refuses: ["rule-broken"],
    }),
    query: t.Object({
      revokeKeys: t.Optional(
        t.Boolean({ default: false, description: "Revoke the API keys that the person made. By default they stay." }),
      ),
    }),
  },
  endPersonSessions: {
    ...{ method: "DELETE", path: "/v2/account/people/{id}/sessions", status: 204, tag },
    ...{ summary: "Sign a person out everywhere", scope: "account:write", narrowed: "refused", resource: "people" },
  },
  listInvitations: invited.find({}, { summary: "List invitations that can still be used" }),
  createInvitation: {
    ...invited.create({
      summary: "Invite a person",
      description: `The link is in this answer and nowhere else, and can be used once. ${NOT_BEYOND}`,
      refuses: ["over-quota"],
    }),
    out: CreatedInvitation,
  },
  deleteInvitation: invited.remove({ summary: "Withdraw an invitation" }),
} as const satisfies Operations;

/** These operations are about the caller. */
export const ownOperations = {
  getMe: {
    ...{ method: "GET", path: "/v2/account/me", status: 200, tag, who: "caller", narrowed: "own", out: Me },
    ...{ summary: "Get who asks", description: "The person or the API key, what it may do, and in which account." },
  },
  updateMe: {
    ...{ method: "PATCH", path: "/v2/account/me", status: 200, tag, who: "person", narrowed: "refused" },
    ...{ in: UpdateMe, out: Me, resource: "people", refuses: ["name-taken"] },
    summary: "Update one's own name, email address and password",
    description: "A new password ends every other session of the person.",
  },
  listSessions: {
    ...{ method: "GET", path: "/v2/account/sessions", status: 200, tag, who: "person", narrowed: "refused" },
    ...{ summary: "List one's own sessions", out: t.Object({ sessions: t.Array(Session) }) },
  },
  endSessions: {
    ...{ method: "DELETE", path: "/v2/account/sessions", status: 204, tag, who: "person", narrowed: "refused" },
    ...{ summary: "Sign out everywhere", isOfBrowser: true },
    query: t.Object({
      others: t.Optional(t.Boolean({ default: false, description: "End all sessions but the one that asks." })),
    }),
  },
  endSession: {
    ...{ method: "DELETE", path: "/v2/account/sessions/{id}", status: 204, tag, who: "person", narrowed: "refused" },
    summary: "End one of one's own sessions",
  },
  lookAtCodeLogin: {
    ...{ method: "POST", path: "/v2/account/codes/look", status: 200, tag, who: "person", narrowed: "refused" },
    ...{ in: LookAtCodeLogin, out: CodeLoginSeen, resource: "sessions" },
    summary: "Show which command line asks by a code, without answering",
  },
  answerCodeLogin: {
    ...{ method: "POST", path: "/v2/account/codes/answer", status: 204, tag, who: "person", narrowed: "refused" },
    ...{ in: AnswerCodeLogin, resource: "sessions" },
    summary: "Let a command line act for oneself, or refuse it",
    description: "For people in the console. The command line then gets a session of its own, listed with the others.",
  },
} as const satisfies Operations;

const open = { tag, who: "anybody", narrowed: "own", isOfBrowser: true } as const;
const entering = { ...open, method: "POST", status: 200, out: SignedIn, refuses: ["unauthenticated"] } as const;

/** These operations need no key and no session. */
export const signInOperations = {
  getSignIn: {
    ...{ method: "GET", path: "/v2/account/sign-in", status: 200, ...open, out: SignInState },
    summary: "Get whether and how a browser can sign in here",
  },
  signIn: {
    ...{ ...entering, path: "/v2/account/sign-in", in: SignIn },
    summary: "Sign in by email address and password",
    description: "A wrong password, an unknown address and a disabled person get the same answer after the same time.",
  },
  signInByLink: {
    ...{ ...entering, path: "/v2/account/sign-in/link", in: SignInByLink },
    summary: "Sign in by a one-time link",
    description: "The first start prints a link, and `millrace open` makes another. It works once, within 10 minutes.",
  },
  signInByInvitation: {
    ...{ ...entering, path: "/v2/account/sign-in/invitation", in: SignInByInvitation },
    summary: "Accept an invitation: become a person of the account, and sign in",
    refuses: ["unauthenticated", "name-taken", "over-quota"],
  },
  beginSignInByProvider: {
    ...{ ...entering, path: "/v2/account/sign-in/provider/begin", out: ProviderAsked },
    summary: "Begin to sign in by the identity provider",
    description: "The page then goes to `url`. The provider sends the browser back to `/sign-in/provider`.",
    refuses: ["rule-broken", "unavailable"],
  },
  signInByProvider: {
    ...{ ...entering, path: "/v2/account/sign-in/provider", in: SignInByProvider },
    summary: "Sign in by the answer of the identity provider",
    description: "Groups are read each time. Somebody whose groups lead nowhere is refused, and their sessions end.",
    refuses: ["unauthenticated", "over-quota", "unavailable"],
  },
  beginCodeLogin: {
    ...{ ...entering, path: "/v2/account/sign-in/codes", in: BeginCodeLogin, out: CodeLogin },
    summary: "Begin to sign in on the command line, by a code that a person approves in the console",
    refuses: [],
  },
  collectCodeLogin: {
    ...{ ...entering, path: "/v2/account/sign-in/codes/collect", in: CollectCodeLogin, out: CodeSession },
    ...{ emptyStatus: 204, summary: "Get the session of an approved code, once; 204 while nobody has answered" },
  },
  lookAtInvitation: {
    ...{ ...entering, path: "/v2/account/invitations/look", in: LookAtInvitation, out: InvitationSeen },
    summary: "Show what an invitation is for, without using it",
  },
  signOut: {
    ...{ method: "POST", path: "/v2/account/sign-out", status: 200, emptyStatus: 204, ...open, out: SignedOut },
    summary: "Sign out: end the session of this browser",
    description:
      "Without a session it does nothing, and succeeds. A sign-in by the provider may end there too, at `url`.",
  },
} as const satisfies Operations;
