/** An account and its money: what it has spent, what it may spend, and who is warned before it reaches a limit. */

import { WEBHOOK_BYTES } from "../../jobs/model.ts";
import type { Kept } from "../../kernel/document.ts";
import { MOST_USD } from "../../kernel/money.ts";
import { closed, nullable, type Static, t } from "../../kernel/schema.ts";
import { everyQuota } from "../account/model.ts";

const MONTHLY = "USD in a calendar month (UTC)";

/** An amount that may be spent in a month. */
const spendLimit = (description: string) =>
  t.Number({ minimum: 0, maximum: MOST_USD, description: `${description}, in ${MONTHLY}; 0 means no limit.` });

export const spendWebhook = t.String({
  format: "uri",
  pattern: "^[hH][tT][tT][pP][sS]?:",
  maxLength: WEBHOOK_BYTES,
  "x-max-bytes": WEBHOOK_BYTES,
  description:
    "An http or https URL that is posted a warning at 80% and at 100% of a limit or of a credit; null for none.",
});

const used = t.Integer({ minimum: 0, description: "How much of it is used now." });

const AccountLimits = t.Object(
  {
    quotas: t.Object(
      everyQuota(
        t.Object({
          limit: nullable(t.Integer({ minimum: 0, description: "Null where only the machines are the limit." })),
          used,
        }),
      ),
      { description: "What the account may have at once." },
    ),
    requests: t.Array(
      t.Object({
        window: t.String({ description: "`minute`, `hour` or `day`." }),
        seconds: t.Integer({ minimum: 1, description: "Its length." }),
        limit: t.Integer({ minimum: 1, description: "How many requests it allows." }),
        used,
        resetSeconds: t.Integer({ minimum: 0, description: "When it ends and counting begins anew." }),
      }),
      {
        description:
          "The rate limits of the caller, on all nodes. All keys and sessions of one person count together. Empty where none applies.",
      },
    ),
  },
  { $id: "AccountLimits", description: "What limits the account and the caller, and what is used of each." },
);

export const AccountRecord = t.Object(
  {
    id: t.String({ description: "Unique account identifier." }),
    name: t.String({ description: "Its name." }),
    balance: nullable(
      t.Number({
        description: "Remaining credit, in USD; null without a balance.",
      }),
    ),
    spentThisMonth: t.Number({ description: `What it has cost since the month began, in ${MONTHLY}.` }),
    spendLimit: spendLimit("Monthly limit that the account sets itself"),
    spendLimitMost: spendLimit("Monthly limit that the operator sets"),
    spendWebhook: nullable(t.String({ description: "Where warnings are posted: only where it leads is shown." })),
    refusal: nullable(
      t.String({ description: "Why nothing new is started for it now; null when nothing is in the way." }),
    ),
    refusalCode: nullable(t.String({ description: "The code of `refusal`, for programs: docs/reasons.md." })),
    limits: AccountLimits,
  },
  { $id: "Account" },
);
export type AccountRecord = Static<typeof AccountRecord>;

export const UpdateAccount = closed(
  {
    spendLimit: t.Optional(spendLimit("Monthly limit that the account sets itself")),
    spendWebhook: t.Optional(nullable(spendWebhook)),
  },
  { $id: "UpdateAccountRequest", minProperties: 1 },
);

/** A payment with a reference, kept so that the same one is credited only once. The amount is in 1e-9 USD. */
export type KeptCredit = { reference: string; amount: number };

export const credits: Kept<KeptCredit> = { kind: "credit", v: 1 };

/** A warning that is to be sent, or was sent. There is one for each month and threshold, and for the balance. */
export type KeptSpendNotice = {
  url: string;
  /** The serial of the limit or credit that the warning is about. */
  serial: number;
  /** The body of the POST request. */
  message: Record<string, unknown>;
  tries: number;
  /** When the warning is sent, or sent again. Null when no more tries follow. */
  dueAt: number | null;
};

export const spendNotices: Kept<KeptSpendNotice> = {
  kind: "spend-notice",
  v: 1,
  listed: ({ dueAt }) => ({ due: dueAt === null ? undefined : "yes" }),
};
