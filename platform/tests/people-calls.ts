/** Calls of the operations on people, sessions and signing in, for the test that holds answers against the document. */
import type { Who } from "../src/kernel/operation.ts";
import { TestBrowser } from "./browser.ts";
import { invited, linkOf, PASSWORD, signedInOwner, tokenIn } from "./people.ts";
import type { CallOptions, World } from "./world.ts";

const INVITATIONS = "/v2/account/invitations";
const NO_TOKEN = "A".repeat(43);
const EMAIL = "ada@example.com";

/** How a call is sent for an operation that is not for every key. */
export async function sentAs(world: World, who: Who | undefined): Promise<CallOptions> {
  if (who === "anybody") return { key: null, headers: new TestBrowser(world.url).headers() };
  return who === "person" ? { key: null, headers: (await signedInOwner(world)).headers() } : {};
}

/** Calls of callers who may not: nobody knows them, or they are the wrong ones. */
export async function strangersTo(world: World, who: Who | undefined): Promise<[status: number, call: CallOptions][]> {
  if (who === "anybody") return [[403, { headers: { origin: "https://elsewhere.test" } }]];
  if (who === "person")
    return [
      [401, { key: null, headers: {} }],
      [403, { key: world.key, headers: {} }],
    ];
  const { key } = await world.services.podKeys.issue(world.owner.account, "aaaaaaaaaaaaaa");
  const powerless = who === "caller" ? key : await world.newKey({ scopes: ["serverless:invoke"] });
  return [
    [401, { key: null }],
    [403, { key: powerless }],
  ];
}

async function viewer(world: World): Promise<string> {
  const browser = await invited(world);
  return (await browser.call("GET", "/v2/account/me")).json.person.id;
}

const invitation = async (world: World) => (await world.call("POST", INVITATIONS, { body: { role: "viewer" } })).json;
const invitationToken = async (world: World) => tokenIn((await invitation(world)).url);

/** The provider sends browsers to the public address, so they begin there too. */
const publicBrowser = ({ url }: World) => new TestBrowser(url, "https://millrace.test");
const codeOf = async (world: World) =>
  (await new TestBrowser(world.url).call("POST", "/v2/account/sign-in/codes", { body: {} })).json;

export const goodPeopleCalls = {
  listPeople: async (world: World) => ({ id: await viewer(world) }),
  getPerson: async (world: World) => ({ id: await viewer(world) }),
  updatePerson: async (world: World) => ({ id: await viewer(world), body: { role: "member", name: "Vi" } }),
  deletePerson: async (world: World) => ({ id: await viewer(world) }),
  endPersonSessions: async (world: World) => ({ id: await viewer(world) }),
  listInvitations: async (world: World) => ({ id: (await invitation(world)).id }),
  createInvitation: async () => ({ body: { role: "member", email: EMAIL, expiresInHours: 1 } }),
  deleteInvitation: async (world: World) => ({ id: (await invitation(world)).id }),
  getMe: async () => ({}),
  updateMe: async () => ({ body: { name: "Ada", email: EMAIL, newPassword: PASSWORD } }),
  listSessions: async () => ({}),
  endSessions: async () => ({}),
  endSession: async (world: World) => {
    const browser = await signedInOwner(world);
    return { id: (await browser.call("GET", "/v2/account/me")).json.session.id };
  },
  getSignIn: async () => ({}),
  signIn: async (world: World) => {
    await invited(world, { email: EMAIL });
    return { body: { email: EMAIL, password: PASSWORD } };
  },
  signInByLink: async (world: World) => ({ body: { token: await linkOf(world) } }),
  signInByInvitation: async (world: World) => ({
    body: { token: await invitationToken(world), email: EMAIL, password: PASSWORD, name: "Ada" },
  }),
  lookAtInvitation: async (world: World) => ({ body: { token: await invitationToken(world) } }),
  beginSignInByProvider: async (world: World) => ({ headers: publicBrowser(world).headers() }),
  signInByProvider: async (world: World) => {
    const browser = publicBrowser(world);
    const { state } = (await browser.call("POST", "/v2/account/sign-in/provider/begin")).json;
    return { body: { answer: `state=${state}&code=c` }, headers: browser.headers() };
  },
  beginCodeLogin: async () => ({ body: { device: "laptop" } }),
  collectCodeLogin: async (world: World) => {
    const { deviceCode, userCode } = await codeOf(world);
    const body = { userCode, approve: true };
    await (await signedInOwner(world)).call("POST", "/v2/account/codes/answer", { body });
    return { body: { deviceCode } };
  },
  lookAtCodeLogin: async (world: World) => ({ body: { userCode: (await codeOf(world)).userCode } }),
  answerCodeLogin: async (world: World) => ({ body: { userCode: (await codeOf(world)).userCode, approve: true } }),
  signOut: async () => ({}),
};

const weak = { email: EMAIL, newPassword: "aaaaaaaaaaaa" };

export const ownPeopleRefusals = {
  updatePerson: [[400, { id: async ({ owner }: World) => owner.user, body: { role: "viewer" } }]],
  deletePerson: [
    [400, { id: async ({ owner }: World) => owner.user }],
    [422, { query: "?revokeKeys=perhaps" }],
  ],
  updateMe: [
    [400, { body: weak }],
    [
      409,
      {
        body: { email: EMAIL, newPassword: PASSWORD },
        id: async (world: World) => {
          await invited(world, { email: EMAIL });
          return "";
        },
      },
    ],
  ],
  endSessions: [[422, { query: "?others=perhaps" }]],
  signIn: [[401, { body: { email: EMAIL, password: PASSWORD } }]],
  signInByLink: [[401, { body: { token: NO_TOKEN } }]],
  signInByInvitation: [
    [401, { body: { token: NO_TOKEN, email: EMAIL, password: PASSWORD } }],
    [
      409,
      {
        async bodyIn(world: World) {
          await invited(world, { email: EMAIL });
          return { token: await invitationToken(world), email: EMAIL, password: PASSWORD };
        },
      },
    ],
  ],
  lookAtInvitation: [[401, { body: { token: NO_TOKEN } }]],
  collectCodeLogin: [[401, { body: { deviceCode: NO_TOKEN } }]],
  beginSignInByProvider: [[400, {}]],
  signInByProvider: [[400, { body: { answer: "state=x" } }]],
} as const;

export const fittingPeopleBodies = { updatePerson: { name: "n" } };
