/** Reasons why there is no place for something, or why it loses its place. */
import { after, type Entry, worded } from "./entry.ts";

const WHAT_TO_WAIT_FOR = "Wait, ask for less or for other hardware, or add a machine.";

type SpendLimit = { whose: string; limit: string; month: string };

const overSpendLimit = ({ whose, limit, month }: SpendLimit) =>
  `spend limit: ${whose} has spent the ${limit} that it may spend in ${month}`;

export const placeReasons = {
  "no-capacity": worded<{ need: string; lacks: string; fitting?: number; wanted?: number }>({
    means: "No machine has room for it. The fact `lacks` says what is short.",
    remedy: WHAT_TO_WAIT_FOR,
    text: ({ need, fitting, wanted }) =>
      `no capacity: ${fitting === undefined ? "" : `${fitting} of ${wanted} would find room: `}${need}`,
  }),
  "making-room": worded({
    means: "There will be room as soon as something that gives way has ended.",
    remedy: "Wait: it takes seconds.",
    text: () => "room is being made: an idle worker ends",
  }),
  "waits-for-yielding": worded({
    means: "There will be room as soon as interruptible Pods have ended.",
    remedy: "Wait: it takes seconds.",
    text: () => "waits for Pods that give way to it",
  }),
  "quota-reached": worded<{ what: string; used: number; limit: number; needed: number }>({
    means: "The account has as many workers, GPUs, vCPU or Pods as it may have.",
    remedy: "Wait until something ends, or ask for a higher quota.",
    text: ({ what, used, limit, needed }) =>
      `account quota: ${used} of ${limit} ${what} in use${needed === 1 ? "" : `, needs ${needed}`}`,
  }),
  "spend-limit": worded<SpendLimit>({
    means: "The account has spent what it may spend this month by its own limit.",
    remedy: "Raise the spend limit of the account, or wait for the next month.",
    text: overSpendLimit,
  }),
  "operator-spend-limit": worded<SpendLimit>({
    means: "The account has spent what the operator of the installation lets it spend this month.",
    remedy: "Ask the operator for a higher limit, or wait for the next month.",
    text: overSpendLimit,
  }),
  "key-spend-limit": worded<SpendLimit>({
    means: "The API key has spent what it may spend this month.",
    remedy: "Use a key with a higher limit or with none, or wait for the next month.",
    text: overSpendLimit,
  }),
  "no-credit": worded({
    means: "The prepaid balance of the account is used up.",
    remedy: "Add credit to the account.",
    text: () => "no credit: the balance of the account is used up",
  }),
  "spending-unread": worded({
    means: "The server is still adding up what the account has spent.",
    remedy: "Wait: it takes seconds.",
    text: () => "spend limit: what was spent so far is still being read",
  }),
  "machine-drained": worded<{ machine: string }>({
    means: "The operator drains the machine: nothing stays there.",
    remedy: "Nothing: another machine takes over where there is one.",
    text: ({ machine }) => `machine ${machine} is being drained`,
  }),
  "machine-gone": worded<{ machine: string }>({
    means: "The machine was not heard of for so long that it counts as gone.",
    remedy: "Nothing: it is started elsewhere where that can be.",
    text: ({ machine }) => `machine ${machine} is gone`,
  }),
  "place-lost": worded({
    means: "The machine, or something more important, took the place of what ran.",
    remedy: "Nothing: it is started again as soon as there is room.",
    text: (_, about) => after("lost its place", about),
  }),
  "machine-silent": worded<{ machine: string; since: string }>({
    means: "The machine is not heard of for now, and what runs there is not known.",
    remedy: "Wait; ask the operator to look at the machine if it stays.",
    text: ({ machine, since }) => `machine ${machine}, which is not heard of since ${since}`,
  }),
} as const satisfies Record<string, Entry>;
