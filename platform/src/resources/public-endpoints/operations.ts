/** Operations on public endpoints: for their owners, and for those who may call them. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { t } from "../../kernel/schema.ts";
import { bucketWindow } from "../billing/model.ts";
import { PublicEndpoint, PublicEndpointUse } from "./model.ts";

const on = operationsOn(PublicEndpoint, "/v2/public-endpoints", {
  tag: "Public endpoints",
  scope: "serverless",
  one: "a public endpoint",
  many: "publicEndpoints",
});

export const publicEndpointOperations = {
  listPublicEndpoints: on.find(
    {},
    { description: "Those that the account may call, and its own. Each has a name, which is its address." },
  ),
  createPublicEndpoint: on.create({
    summary: "Share an endpoint",
    description:
      "Gives an endpoint a name under which other accounts call it with their own keys. Their jobs run in the workers of this account: " +
      "callers share those workers, unless `workerPerAccount` is true, and take turns.",
    refuses: ["not-found", "rule-broken"],
  }),
  getPublicEndpoint: on.get({ description: "One that the account may call, or its own." }),
  updatePublicEndpoint: on.update({
    description:
      "Changes only the fields that you send. Waiting jobs keep their price. Callers who lose access can still read and cancel their jobs.",
  }),
  deletePublicEndpoint: on.remove({
    summary: "Stop sharing an endpoint",
    description:
      "Jobs of others go on, and their callers can read and cancel them. No other account can use the name for 30 days.",
  }),
  getPublicEndpointUse: {
    method: "GET",
    path: "/v2/public-endpoints/{id}/use",
    summary: "See who uses a public endpoint",
    description: "What each calling account used and owes, in buckets of time. For the account that shares it.",
    tag: "Public endpoints",
    status: 200,
    scope: "billing:read",
    narrowed: "refused",
    refuses: ["rule-broken"],
    query: t.Object(bucketWindow),
    out: t.Object({
      use: t.Array(PublicEndpointUse),
      income: t.Number({ minimum: 0, description: "USD of all callers together." }),
      cost: t.Number({
        minimum: 0,
        description: "USD that the endpoint's workers cost this account in the same time.",
      }),
    }),
  },
} as const satisfies Operations;
