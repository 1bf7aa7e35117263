/** Accounts, prices and limits of an installation, as its owner sees and sets them. */
import { MOST_USD } from "../../kernel/money.ts";
import { closed, dateTime, name, nullable, type Static, t } from "../../kernel/schema.ts";
import { everyQuota, LARGEST_QUOTA } from "../account/model.ts";
import { AccountRecord, spendWebhook } from "../spending/model.ts";

const quota = { minimum: 0, maximum: LARGEST_QUOTA };
const count = t.Integer({ minimum: 0 });

const { limits: _, ...money } = AccountRecord.properties;

/** The highest rate limit. It stands for no limit. */
const MOST_REQUESTS = 1_000_000_000;
const requests = t.Integer({ minimum: 1, maximum: MOST_REQUESTS });
const requestLimits = (description: string) =>
  nullable(closed({ minute: requests, hour: requests, day: requests }, { description }));
const suspendedReason = (description: string) => nullable(t.String({ minLength: 1, maxLength: 500, description }));

export const InstallationAccount = t.Object(
  {
    ...money,
    owner: t.String({ description: "The email address of its owner." }),
    isFirst: t.Boolean({
      description: "Whether it is the account of the installation's owner, which cannot be deleted.",
    }),
    createdAt: dateTime("When it was created."),
    suspended: t.Boolean({
      description: "Whether the operator keeps it out. Its people and keys are refused, and nothing new starts.",
    }),
    suspendedAt: nullable(dateTime("Since when it is suspended.")),
    suspendedReason: suspendedReason("Why it is suspended, as its people are told."),
    requestLimits: requestLimits(
      "Requests that each of its people may send, if they differ from those of the installation.",
    ),
    quotas: t.Object(everyQuota(t.Optional(t.Integer(quota))), {
      description: "The quotas that were set for this account.",
    }),
    limits: t.Object(everyQuota(t.Integer(quota)), {
      description: `The limits that apply to the account: its own quotas, and the installation's where it has none. ${LARGEST_QUOTA} means no limit.`,
    }),
    used: t.Optional(
      t.Object(everyQuota(count), { description: "What the account uses of each now. Absent from lists of accounts." }),
    ),
  },
  { $id: "InstallationAccount" },
);
export type InstallationAccount = Static<typeof InstallationAccount>;

export const CreateInstallationAccount = closed(
  {
    name: name({ description: "Unique in the installation." }),
    email: t.Optional(
      t.String({
        minLength: 3,
        maxLength: 254,
        pattern: "^[^\\s@]+@[^\\s@]+$",
        description: "The address of its owner.",
      }),
    ),
  },
  { $id: "CreateInstallationAccountRequest" },
);

export const UpdateInstallationAccount = closed(
  {
    name: t.Optional(name({ description: "Unique in the installation." })),
    suspended: t.Optional(
      t.Boolean({
        description:
          "True refuses its people and keys, and starts nothing new; what runs continues. The first account cannot be suspended.",
      }),
    ),
    suspendedReason: t.Optional(suspendedReason("What its people are told. It goes with the suspension.")),
    requestLimits: t.Optional(
      requestLimits("Requests that each of its people may send. Null returns to those of the installation."),
    ),
    spendWebhook: t.Optional(nullable(spendWebhook)),
    quotas: t.Optional(
      closed(everyQuota(t.Optional(nullable(t.Integer(quota)))), {
        description: "Changes only the quotas sent. Null returns a quota to that of the installation.",
      }),
    ),
    spendLimitMost: t.Optional(
      t.Number({
        ...{ minimum: 0, maximum: MOST_USD },
        description: "What the account may cost in a calendar month (UTC), in USD; 0 means no limit.",
      }),
    ),
    balance: t.Optional(t.Null({ description: "Null ends the balance: credit no longer limits the account." })),
  },
  { $id: "UpdateInstallationAccountRequest", minProperties: 1 },
);

export const Credit = closed({
  amount: t.Number({ minimum: 0, maximum: MOST_USD, description: "USD; 0 begins a balance of nothing." }),
  reference: t.Optional(
    name({ description: "Your name for the payment, such as an invoice number. The same one adds credit only once." }),
  ),
});

const usd = t.Number({ minimum: 0 });
const perHour = (names: readonly string[]) => Object.fromEntries(names.map((one) => [one, usd]));

export const InstallationPrices = t.Object(
  {
    gpus: t.Array(
      t.Object({
        id: t.String(),
        ...perHour(["secure", "community", "cluster", "secureSpot", "communitySpot", "serverless"]),
      }),
      { description: "USD per GPU and hour." },
    ),
    cpus: t.Array(t.Object({ id: t.String(), ...perHour(["pod", "serverless"]) }), {
      description: "USD per vCPU and hour.",
    }),
    storage: t.Record(t.String(), usd, { description: "USD per GB and month." }),
    changesAt: t.Array(dateTime("When other prices begin to apply.")),
  },
  { $id: "InstallationPrices" },
);
export type InstallationPrices = Static<typeof InstallationPrices>;

const MOST_PRICES = 10;

export const SetPrices = closed(
  {
    id: name({ description: "A GPU type, a pool, a CPU flavor, or `storage`." }),
    prices: t.Record(
      t.String({ pattern: "^[A-Za-z]{1,50}$" }),
      nullable(
        t.Number({ minimum: 0, maximum: 1_000_000, description: "USD; null restores the price of the catalog." }),
      ),
      { minProperties: 1, maxProperties: MOST_PRICES, additionalProperties: false },
    ),
  },
  { $id: "SetPricesRequest" },
);

const bytes = t.Integer({ minimum: 0, description: "Bytes." });

/** How many endpoints the answer names. */
export const LONGEST_QUEUES = 10;

export const InstallationUsage = t.Object(
  {
    node: t.String({ description: "Id of the node that answers. All but `queue` is about this node." }),
    refusal: nullable(t.String({ description: "Why the node accepts nothing new; null when it does." })),
    disk: nullable(t.Object({ free: bytes, total: bytes }, { description: "The disk of the data folder." })),
    bodies: t.Object(
      { held: bytes, total: bytes, waiting: count },
      { description: "Memory for bodies and results, and the requests that wait for some." },
    ),
    connections: t.Object({ open: count, most: count }),
    queue: t.Object({
      inQueue: count,
      inProgress: count,
      endpoints: t.Integer({ minimum: 0, description: "Endpoints that have waiting or running jobs." }),
      longest: t.Array(
        t.Object({ endpointId: t.String(), accountId: nullable(t.String()), inQueue: count, inProgress: count }),
        { maxItems: LONGEST_QUEUES, description: "The endpoints with the most waiting jobs." },
      ),
    }),
  },
  { $id: "InstallationUsage" },
);
export type InstallationUsage = Static<typeof InstallationUsage>;
