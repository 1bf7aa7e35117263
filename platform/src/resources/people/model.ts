/** People of an account, their roles, invitations and sessions in browsers. */
import type { Kept } from "../../kernel/document.ts";
import { type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";
import { type Grant, grants, scopedResources } from "../../kernel/scope.ts";

const roles = ["owner", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

/** A member may read these resources, but not write them. */
const READ_BY_MEMBERS = ["account", "billing", "catalog"];

const ofMembers = scopedResources.map(
  (name): Grant => (READ_BY_MEMBERS.includes(name) ? `${name}:read` : `${name}:write`),
);

/** The scopes of each role. A role has no other effect. */
export const grantsOf: Readonly<Record<Role, readonly Grant[]>> = {
  owner: ["all"],
  member: [...ofMembers, "serverless:invoke", "pods:exec", "serverless:exec"],
  viewer: ["read-only"],
};

/** The longest address that mail servers accept. */
const EMAIL_LENGTH = 254;
/** The pattern only looks for an at sign, since no pattern can tell whether mail would arrive. */
const EMAIL = "^[^\\s@]+@[^\\s@]+$";
const PASSWORD = { minLength: 10, maxLength: 200 };
const TOKEN_LENGTH = 100;

const emailField = (description: string) =>
  t.String({ minLength: 3, maxLength: EMAIL_LENGTH, pattern: EMAIL, description });
const nameField = t.String({ minLength: 1, maxLength: 191, description: "Name for people." });
const roleField = oneOf(roles, {
  description:
    "A set of scopes. `owner`: `all`. `member`: reads and writes everything but the account itself, billing and the catalog, which it reads. `viewer`: `read-only`.",
});
const newPasswordField = t.String({ ...PASSWORD, description: "A password, 10 to 200 characters." });
const tokenField = (description: string) => t.String({ minLength: 1, maxLength: TOKEN_LENGTH, description });

export const Person = resource("Person", {
  assigned: {
    id: t.String({ description: "Unique identifier of the person." }),
    email: t.String({ description: "Email address, by which the person signs in." }),
    passwordSet: t.Boolean({
      description: "Whether the person has a password. Without one a link or the identity provider is the way in.",
    }),
    byProvider: t.Boolean({
      description: "Whether the person signs in by the identity provider, where their groups decide about the role.",
    }),
    createdAt: dateTime("When the person came into the account."),
    lastSeenAt: nullable(
      dateTime("When a session of the person was last used, to within a minute; null before the first."),
    ),
  },
  given: {
    name: t.Optional(nameField),
    role: roleField,
    disabled: t.Optional(
      t.Boolean({ default: false, description: "A disabled person cannot sign in, and every session has ended." }),
    ),
  },
  shown: {
    name: nullable(t.String({ description: "Name for people." })),
    disabled: t.Boolean({ description: "A disabled person cannot sign in, and every session has ended." }),
  },
});
export type Person = RecordOf<typeof Person>;

export const Invitation = resource("Invitation", {
  assigned: {
    id: t.String({ description: "Unique identifier of the invitation." }),
    invitedBy: nullable(t.String({ description: "Email address of the person who invites; null for an API key." })),
    createdAt: dateTime("Creation time."),
    expiresAt: dateTime("From this time on its link is refused."),
  },
  given: {
    role: roleField,
    email: t.Optional(
      emailField("Email address of the person it is for. Nobody else can use it. If absent, anyone with the link can."),
    ),
  },
  once: {
    expiresInHours: t.Optional(
      t.Integer({ minimum: 1, maximum: 720, default: 72, description: "How long the link can be used." }),
    ),
  },
  shown: {
    email: nullable(
      t.String({ description: "Email address of the person it is for; null if anyone with the link can use it." }),
    ),
  },
});
export type Invitation = RecordOf<typeof Invitation>;

/** The answer to a creation. The link is shown here and nowhere else. */
export const CreatedInvitation = t.Object(
  {
    ...Invitation.record.properties,
    url: t.String({ description: "The link, shown this once. It can be used once." }),
  },
  { $id: "CreatedInvitation" },
);

/** How a person proved who they are. */
const waysIn = ["link", "password", "invitation", "provider", "code"] as const;
export type WayIn = (typeof waysIn)[number];

export const Session = t.Object(
  {
    id: t.String({ description: "Unique identifier of the session." }),
    createdAt: dateTime("When the person signed in."),
    lastUsedAt: dateTime("When it was last used, to within a minute."),
    expiresAt: dateTime("When it ends, however much it is used. Unused for 7 days, it ends earlier."),
    address: nullable(t.String({ description: "Where the sign-in came from." })),
    userAgent: nullable(t.String({ description: "What the browser called itself, its first 200 characters." })),
    signedInBy: oneOf(waysIn, { description: "How the person signed in." }),
    current: t.Boolean({ description: "Whether it is the session that asks." }),
  },
  { $id: "Session" },
);
export type Session = Static<typeof Session>;

export const Me = t.Object(
  {
    type: oneOf(["person", "key"], { description: "Whether a person in a browser asks, or an API key." }),
    person: nullable(
      t.Object({
        id: t.String(),
        email: t.String(),
        name: nullable(t.String()),
        role: oneOf(roles),
        passwordSet: t.Boolean({ description: "False until the person has set a password." }),
        byProvider: t.Boolean({ description: "Whether the person signs in by the identity provider." }),
      }),
    ),
    session: nullable(
      t.Object({
        id: t.String(),
        createdAt: dateTime("When it began."),
        expiresAt: dateTime("When it ends."),
        signedInBy: oneOf(waysIn),
      }),
    ),
    key: nullable(t.Object({ id: t.String(), name: nullable(t.String()) })),
    account: t.Object({ id: t.String(), name: t.String() }),
    scopes: t.Array(oneOf(grants), { description: "What the caller may do." }),
    endpoints: nullable(
      t.Array(t.String(), { description: "Endpoints that the key is narrowed to; null means every one." }),
    ),
    ownsInstallation: t.Boolean({ description: "Whether the caller acts for the owner of the installation." }),
  },
  { $id: "Me" },
);
export type Me = Static<typeof Me>;

export const UpdateMe = t.Partial(
  closed({
    name: nameField,
    email: emailField("Another email address. Takes `currentPassword`."),
    newPassword: newPasswordField,
    currentPassword: t.String({
      minLength: 1,
      maxLength: PASSWORD.maxLength,
      description:
        "The password that holds until now. Not needed before there is one, and within 10 minutes of a sign-in by link.",
    }),
  }),
  { additionalProperties: false, minProperties: 1, $id: "UpdateMeRequest" },
);
export type UpdateMe = Static<typeof UpdateMe>;

export const SignIn = closed(
  {
    email: emailField("The person's email address."),
    password: t.String({ minLength: 1, maxLength: PASSWORD.maxLength, description: "The person's password." }),
  },
  { $id: "SignInRequest" },
);

export const SignInByLink = closed(
  { token: tokenField("What stands behind the `#` of a sign-in link.") },
  { $id: "SignInByLinkRequest" },
);

export const SignInByInvitation = closed(
  {
    token: tokenField("What stands behind the `#` of an invitation."),
    email: emailField("The new person's email address."),
    password: newPasswordField,
    name: t.Optional(nameField),
  },
  { $id: "SignInByInvitationRequest" },
);
export type SignInByInvitation = Static<typeof SignInByInvitation>;

export const LookAtInvitation = closed(
  { token: tokenField("What stands behind the `#` of an invitation.") },
  { $id: "LookAtInvitationRequest" },
);

export const InvitationSeen = t.Object(
  {
    account: t.Object({ id: t.String(), name: t.String() }),
    role: oneOf(roles),
    email: nullable(
      t.String({ description: "Email address of the person it is for; null if anyone with the link can use it." }),
    ),
    invitedBy: nullable(t.String({ description: "Email address of the person who invites; null for an API key." })),
    expiresAt: dateTime("From this time on its link is refused."),
  },
  { $id: "InvitationSeen" },
);

export const SignedIn = t.Object(
  {
    pageToken: t.String({
      description: "Sent by the page as `X-Millrace-Page` with every request, beside the cookie. Shown this once.",
    }),
    me: Me,
  },
  { $id: "SignedIn" },
);

export const SignInState = t.Object(
  {
    passwordSet: t.Boolean({ description: "Whether anybody of this installation has a password yet." }),
    passwords: t.Boolean({ description: "Whether this server takes passwords and invitations." }),
    provider: nullable(
      t.Object({ label: t.String({ description: "What the sign-in page calls the identity provider." }) }),
    ),
    possible: t.Boolean({ description: "Whether a browser that comes to this address can keep a session." }),
    reason: nullable(t.String({ description: "Why it cannot, and what to do." })),
  },
  { $id: "SignInState" },
);

export const ProviderAsked = t.Object(
  {
    url: t.String({ description: "Where the browser goes." }),
    state: t.String({
      description: "Comes back in the address. The page keeps it, and takes no answer with another one.",
    }),
  },
  { $id: "ProviderAsked" },
);

export const SignInByProvider = closed(
  {
    answer: t.String({
      minLength: 1,
      maxLength: 8192,
      description: "The query of the address to which the provider sent the browser back.",
    }),
    account: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 191,
        description:
          "Id or name of the account, for people whose groups lead to several. By default the first rule decides.",
      }),
    ),
  },
  { $id: "SignInByProviderRequest" },
);

export const SignedOut = t.Object(
  { url: t.String({ description: "Where the browser signs out at the identity provider too." }) },
  { $id: "SignedOut" },
);

export const BeginCodeLogin = t.Partial(
  closed({
    device: t.String({
      minLength: 1,
      maxLength: 100,
      description: "Name of the machine, for the person who approves.",
    }),
  }),
  { additionalProperties: false, $id: "BeginCodeLoginRequest" },
);

const deviceCode = tokenField("The secret with which the command line asks for its session. Shown this once.");
const userCode = t.String({ minLength: 8, maxLength: 20, description: "The code that the command line shows." });

export const CodeLogin = t.Object(
  {
    deviceCode,
    userCode,
    url: t.String({ description: "The page on which a person approves the code." }),
    expiresInS: t.Integer({ description: "Seconds for which the code is good." }),
    intervalS: t.Integer({ description: "Seconds to wait between two questions." }),
  },
  { $id: "CodeLogin" },
);

export const CollectCodeLogin = closed({ deviceCode }, { $id: "CollectCodeLoginRequest" });

export const CodeSession = t.Object(
  {
    key: t.String({ description: "Sent as an API key is. It may do what the person's role may do. Shown this once." }),
    me: Me,
  },
  { $id: "CodeSession" },
);

export const LookAtCodeLogin = closed({ userCode }, { $id: "LookAtCodeLoginRequest" });

export const CodeLoginSeen = t.Object(
  {
    device: nullable(t.String({ description: "What the machine calls itself." })),
    address: nullable(t.String({ description: "Where the command line asked from." })),
    createdAt: dateTime("When the command line asked."),
    expiresAt: dateTime("From this time on the code is refused."),
  },
  { $id: "CodeLoginSeen" },
);

export const AnswerCodeLogin = closed(
  { userCode, approve: t.Boolean({ description: "Whether the command line may act for the person." }) },
  { $id: "AnswerCodeLoginRequest" },
);

/** A command line that waits for somebody to approve its code. */
export type KeptCodeLogin = {
  deviceDigest: string;
  userDigest: string;
  expiresAt: number;
  device?: string;
  address?: string;
  userAgent?: string;
  /** The person who approved it. */
  approvedBy?: string;
  /** The session in which they did; absent in records from before it counted. */
  approvedIn?: string;
  /** The session lasts no longer than this. */
  until?: number;
  refused?: boolean;
};

export const codeLogins: Kept<KeptCodeLogin> = {
  kind: "code-login",
  v: 1,
  uniqueEverywhere: ({ deviceDigest, userDigest }) => ({ device: deviceDigest, user: userDigest }),
};

/** A session of a person. The store keeps digests of its two secrets. */
export type KeptSession = {
  user: string;
  digest: string;
  pageDigest: string;
  signedInBy: WayIn;
  lastUsedAt: number;
  expiresAt: number;
  address?: string;
  userAgent?: string;
};

export const sessions: Kept<KeptSession> = {
  kind: "session",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
  listed: ({ user }) => ({ user }),
};

export type KeptInvitation = {
  digest: string;
  role: Role;
  email?: string;
  /** The person or the key that made it. The invitation ends when they are removed. */
  person?: string;
  key?: string;
  expiresAt: number;
};

export const invitations: Kept<KeptInvitation> = {
  kind: "invitation",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
};

/** A link by which a person signs in once, without a password. */
export type KeptSignInLink = { user: string; digest: string; expiresAt: number };

export const signInLinks: Kept<KeptSignInLink> = {
  kind: "sign-in-link",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
};
