/** The caller's account in GraphQL, which calls it a user. */
import { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import { usdOf } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import { closed, t } from "../../kernel/schema.ts";
import { type Notice, notices, UpdateSshKeys } from "../../resources/account/model.ts";
import { accountOperations } from "../../resources/account/operations.ts";
import { flatDataCenters } from "../../resources/catalog/flat-view.ts";
import { catalogOperations } from "../../resources/catalog/operations.ts";
import { spendingOperations } from "../../resources/spending/operations.ts";
import { DataCenter, eachDataCenter } from "./catalog.ts";
import type { Arguments, GraphContext, OperationField, OperationFields } from "./context.ts";
import { all, allIn, flag, float, given, int, listOf, text } from "./fields.ts";
import { change, lookup } from "./operations.ts";
import { refusalOf } from "./refusals.ts";
import { DateTime } from "./scalars.ts";

/** Null for a caller without a key. A Pod's own key acts only for that Pod. */
export function myself({ caller }: GraphContext): object | null {
  if (caller.pod !== undefined)
    throw refusalOf(
      problem("not-allowed", "This API key belongs to a Pod, which may only get, stop and terminate itself."),
    );
  return caller.anonymous ? null : {};
}

const readAccount = lookup(spendingOperations.getAccount);

const standing = (context: GraphContext) =>
  context.once("standing", () => context.services.spending.standing(context.caller.account));
const person = (context: GraphContext) =>
  context.once("person", () => context.services.accounts.person(context.caller));
const hourly = (context: GraphContext) =>
  context.once("hourly", () => context.services.costs.perHour(context.caller.account));

/** Makes a field about the account as a whole. Each requires the right to read the account. */
const ofAccount = (type: OperationField["type"], read: (context: GraphContext) => unknown): OperationField => ({
  type,
  operation: readAccount,
  answer: async (_call, context) => read(context),
});

const SpendDetails = new GraphQLObjectType({
  name: "SpendDetails",
  fields: all(float, "localStoragePerHour", "networkStoragePerHour", "gpuComputePerHour"),
});

const ApiKey = new GraphQLObjectType({
  name: "ApiKey",
  fields: { ...all(text, "id", "name", "permissions"), ...all(DateTime, "createdAt", "lastUsed") },
});

/** Turns `podsStale` into `notifyPodsStale`. */
const flagOf = (notice: Notice) => `notify${notice[0]!.toUpperCase()}${notice.slice(1)}`;

const noticeFields = Object.fromEntries(
  notices.map((notice) => [flagOf(notice), ofAccount(flag, async (c) => (await person(c)).notices?.[notice] ?? false)]),
);

/** Every key may read whose it is. */
const identity = {
  id: { type: text, resolve: (_source: unknown, _args: unknown, { caller }: GraphContext) => caller.account },
  authId: { type: text, resolve: (_source: unknown, _args: unknown, { caller }: GraphContext) => caller.user },
};

const ServerlessDiscount = new GraphQLObjectType({
  name: "ServerlessDiscount",
  fields: { ...all(text, "type"), ...all(float, "discountFactor"), ...all(DateTime, "expirationDate") },
});

/** The type of machines that a user rents out to others. Here no one does. */
const HostedMachine = new GraphQLObjectType({ name: "Machine", fields: all(text, "id", "name") });

/** Fields that public clients read and that have the same value for everyone here. */
const always = {
  ...constant(float, { minBalance: 0, hostBalance: 0 }),
  ...constant(flag, { signedTermsOfService: true, multiFactorEnabled: false, isTeam: false }),
  ...constant(int, { machineQuota: null, maxServerlessConcurrency: null }),
  ...constant(listOf(HostedMachine), { machines: [] }),
  ...constant(ServerlessDiscount, { serverlessDiscount: null }),
};

function constant(type: OperationField["type"], values: Record<string, unknown>) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, { type, resolve: () => value }] as const),
  );
}

export const plainUserFields = { ...identity, ...always };

export const accountFields = {
  email: ofAccount(text, async (context) => (await person(context)).email),
  clientBalance: ofAccount(float, async (context) => {
    const { balance } = await standing(context);
    return balance === undefined ? null : usdOf(balance);
  }),
  spendLimit: ofAccount(float, async (context) => usdOf((await standing(context)).terms.limit ?? 0)),
  underBalance: ofAccount(flag, async (context) => ((await standing(context)).balance ?? 1) <= 0),
  currentSpendPerHr: ofAccount(float, async (context) => {
    const { compute, localStorage, networkStorage } = await hourly(context);
    return usd(compute + localStorage + networkStorage);
  }),
  spendDetails: ofAccount(SpendDetails, async (context) => {
    const { compute, localStorage, networkStorage } = await hourly(context);
    return {
      gpuComputePerHour: usd(compute),
      localStoragePerHour: usd(localStorage),
      networkStoragePerHour: usd(networkStorage),
    };
  }),
  ...noticeFields,
  pubKey: {
    type: text,
    operation: lookup(accountOperations.getSshKeys),
    answer: async ({ caller }, { services }) => (await services.account.sshKeys(caller)).join("\n"),
  },
  apiKeys: {
    type: listOf(ApiKey),
    operation: lookup(accountOperations.listApiKeys),
    answer: async ({ caller }, { services }) =>
      (await services.account.apiKeys(caller)).map(({ id, createdAt, usedAt, doc: { name, scopes } }) => ({
        ...{ id, name, createdAt, lastUsed: usedAt },
        permissions: scopes.join(","),
      })),
  },
  datacenters: {
    type: listOf(DataCenter),
    operation: lookup(catalogOperations.listDataCenters),
    cost: eachDataCenter,
    answer: async (_call, { services }) => flatDataCenters(services.catalog),
  },
} satisfies OperationFields;

/** Hourly amounts are rounded to 1e-9 USD. */
const usd = (nanos: number) => usdOf(Math.round(nanos));

export const UpdateUserSettingsInput = new GraphQLInputObjectType({
  name: "UpdateUserSettingsInput",
  fields: { ...allIn(text, "pubKey"), ...allIn(flag, ...notices.map(flagOf)) },
});

const setPubKey: OperationField = {
  type: text,
  operation: change(accountOperations.updateSshKeys, UpdateSshKeys),
  body: ({ input }) => ({ keys: linesOf(input.pubKey) }),
  answer: ({ caller, body }, { services }) => services.account.setSshKeys(caller, body.keys),
};

const Notices = closed(Object.fromEntries(notices.map((notice) => [notice, t.Optional(t.Boolean())])));

const setNotices: OperationField = {
  type: text,
  operation: change(spendingOperations.updateAccount, Notices),
  body: ({ input }) => noticesIn(input),
  answer: ({ caller, body }, { services }) => services.accounts.setNotices(caller, body),
};

/** Clients send one field, but it takes two rights: one for the SSH keys, one for the notices. */
export const userSettings: OperationFields = {
  updateUserSettings: setPubKey,
  "updateUserSettings notices": setNotices,
};

export async function updateUserSettings({ input }: Arguments, context: GraphContext): Promise<object> {
  if (!myself(context)) throw refusalOf(problem("unauthenticated", "this takes an API key"));
  const said = given(input);
  if (said.pubKey !== undefined) await context.perform("updateUserSettings", setPubKey, { input });
  if (Object.keys(noticesIn(said)).length > 0) await context.perform("updateUserSettings", setNotices, { input });
  return {};
}

const linesOf = (keys: string) =>
  keys
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function noticesIn(input: Arguments): Partial<Record<Notice, boolean>> {
  const said = notices.map((notice) => [notice, input?.[flagOf(notice)]] as const);
  return Object.fromEntries(said.filter(([, value]) => typeof value === "boolean"));
}
