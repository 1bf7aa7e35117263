/** Public endpoints: an endpoint of one account that others call under a name, at a price. */
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, oneOf, type Static, t } from "../../kernel/schema.ts";
import { type EndpointType, endpointTypes } from "../endpoints/model.ts";

const MOST_ACCOUNTS = 1000;
const LONGEST_DESCRIPTION = 4096;
/** A price above this is a mistake. */
const DEAREST_USD = 1000;
const MOST_REQUESTS = 1_000_000;

const usd = (what: string) =>
  t.Optional(t.Number({ minimum: 0, maximum: DEAREST_USD, default: 0, description: `USD ${what}.` }));

const priceFields = {
  perRequest: usd("for each completed request"),
  perSecond: usd("for each second that a worker is busy with it"),
  perMillionInputTokens: usd("for a million input tokens, as far as the worker reports them"),
  perMillionOutputTokens: usd("for a million output tokens, as far as the worker reports them"),
};

const limit = (what: string) =>
  t.Optional(
    t.Integer({ minimum: 0, maximum: MOST_REQUESTS, default: 0, description: `${what}; 0 means any number.` }),
  );

const limitFields = {
  requestsPerMinute: limit("Requests that each calling account may submit in a minute"),
  jobsAtOnce: limit("Jobs of each calling account that may wait or run at once"),
};

/** Letters, digits and hyphens, as in the address. The service refuses names that look like an id or are reserved. */
const address = t.String({
  pattern: "^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$",
  minLength: 3,
  maxLength: 63,
  description: "Its address, as in `/v2/{name}/run`: 3 to 63 lower-case letters, digits and hyphens.",
});

export const PublicEndpoint = resource("PublicEndpoint", {
  assigned: {
    id: t.String({ description: "Its name." }),
    type: oneOf(endpointTypes, { description: "Whether its requests are jobs in a queue or go straight to a worker." }),
    own: t.Boolean({ description: "Whether it belongs to the caller's account." }),
    requestUrl: t.String({ description: "The prefix of its operations, such as `/run`." }),
    createdAt: dateTime("When it was shared."),
  },
  fixed: { name: address },
  given: {
    title: t.Optional(t.String({ maxLength: 191, default: "", description: "What people read first." })),
    description: t.Optional(
      t.String({ maxLength: LONGEST_DESCRIPTION, default: "", description: "What it does and what input it takes." }),
    ),
    everyone: t.Optional(
      t.Boolean({ default: false, description: "Whether every account of the installation may call it." }),
    ),
    accounts: t.Optional(
      t.Array(t.String({ minLength: 1, maxLength: 64 }), {
        default: [],
        maxItems: MOST_ACCOUNTS,
        uniqueItems: true,
        description: "Ids of accounts that may call it. Shown to its own account only.",
      }),
    ),
    price: t.Optional(
      closed(priceFields, { default: {}, description: "What callers pay. Jobs keep the price that they began with." }),
    ),
    limits: t.Optional(closed(limitFields, { default: {}, description: "What each calling account may do." })),
    workerPerAccount: t.Optional(
      t.Boolean({
        default: false,
        description: "Whether a worker serves one account only. It is replaced before another account's jobs run.",
      }),
    ),
  },
  shown: {
    title: t.String({ maxLength: 191 }),
    description: t.String({ maxLength: LONGEST_DESCRIPTION }),
    everyone: t.Boolean(),
    accounts: t.Optional(t.Array(t.String(), { maxItems: MOST_ACCOUNTS })),
    price: t.Object({
      perRequest: t.Number({ minimum: 0 }),
      perSecond: t.Number({ minimum: 0 }),
      perMillionInputTokens: t.Number({ minimum: 0 }),
      perMillionOutputTokens: t.Number({ minimum: 0 }),
    }),
    limits: t.Object({
      requestsPerMinute: t.Integer({ minimum: 0 }),
      jobsAtOnce: t.Integer({ minimum: 0 }),
    }),
    workerPerAccount: t.Boolean(),
    endpointId: t.Optional(t.String({ description: "The endpoint behind it. Shown to its own account only." })),
  },
  once: { endpointId: t.String({ minLength: 1, maxLength: 64, description: "The endpoint to share." }) },
});
export type PublicEndpoint = RecordOf<typeof PublicEndpoint>;

export type KeptPublicEndpoint = KeptOf<typeof PublicEndpoint, { accounts: string[]; endpointId: string }> & {
  /** Absent in records that are older than shared load-balancing endpoints. */
  type?: EndpointType;
};

export type Price = KeptPublicEndpoint["price"];
export type GuestLimits = KeptPublicEndpoint["limits"];

export const noPrice: Price = { perRequest: 0, perSecond: 0, perMillionInputTokens: 0, perMillionOutputTokens: 0 };
export const noLimits: GuestLimits = { requestsPerMinute: 0, jobsAtOnce: 0 };

export const publicEndpoints: Kept<KeptPublicEndpoint> = {
  kind: "public-endpoint",
  called: "public endpoint",
  v: 1,
  uniqueEverywhere: ({ endpointId }) => ({ endpointId }),
};

/** Who used a public endpoint in a bucket of time, and what that brought. */
export const PublicEndpointUse = t.Object(
  {
    accountId: t.String({ description: "The calling account." }),
    accountName: t.String({ description: "Its name; empty if it was removed." }),
    startTime: dateTime("When the bucket begins."),
    endTime: dateTime("The first moment that is not in it."),
    requests: t.Integer({ minimum: 0, description: "Completed requests." }),
    executionMs: t.Integer({ minimum: 0, description: "How long workers were busy with them." }),
    inputTokens: t.Integer({ minimum: 0 }),
    outputTokens: t.Integer({ minimum: 0 }),
    amount: t.Number({ minimum: 0, description: "USD that the account owes." }),
  },
  { $id: "PublicEndpointUse" },
);
export type PublicEndpointUse = Static<typeof PublicEndpointUse>;
