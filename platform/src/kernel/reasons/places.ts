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
  "model-filling": worded<{ model: string; machines: number; percent?: number }>({
    means: "The files of a model that the endpoint names are being copied to the first machine.",
    remedy: "Wait: the text says how much is there. If no machine has begun, ask the operator.",
    text: ({ model, machines, percent }) =>
      machines === 0
        ? `no machine has begun to copy model ${model}: it needs one that mounts volumes`
        : `model ${model} is being copied${percent === undefined ? "" : `: ${percent} % are there`}`,
  }),
  "model-failed": worded<{ model: string; why?: string }>({
    means: "The files of a model could not be copied.",
    remedy:
      "Ask the operator, who sees why: the model is deleted and added again, or the copy is tried again by itself.",
    text: ({ model, why }) =>
      `model ${model} could not be copied${why === undefined ? ": ask the operator" : `: ${why}`}`,
  }),
  "model-gone": worded<{ model: string }>({
    means: "The endpoint names a model that the installation no longer has, or that its account may no longer use.",
    remedy: "Ask the operator for the model, or change `modelReferences` of the endpoint.",
    text: ({ model }) => `there is no model ${model} that this account may use`,
  }),
  "cluster-unencrypted": worded<{ members: number; machine: string; why: string }>({
    means:
      "No machine has room for all members of the cluster. Several have, but their network is not trusted, and one of them cannot encrypt.",
    remedy:
      "The operator installs `wireguard-tools` on that machine, or names its network in `MILLRACE_TRUSTED_NETWORKS` on all machines.",
    text: ({ members, machine, why }) =>
      `no capacity: there is room for all ${members}, but not on one machine, and machine ${machine} cannot encrypt what members send to others (${why}); ` +
      "its operator can install what is missing, or name a network in MILLRACE_TRUSTED_NETWORKS",
  }),
  "network-forming": worded<{ machines: string }>({
    means:
      "The members of the cluster are on several machines, and not all of these have made their part of its network.",
    remedy: "Wait: it takes seconds. If it lasts, look whether the machines that the text names are silent.",
    text: ({ machines }) => `the network of its cluster is being made: waits for machine ${machines}`,
  }),
  "making-room": worded({
    means: "Something that gives way is ending, and then there will be room.",
    remedy: "Wait: it takes seconds.",
    text: () => "making room: an idle worker is ending",
  }),
  "waits-for-yielding": worded({
    means: "Interruptible Pods are ending, and then there will be room.",
    remedy: "Wait: it takes seconds.",
    text: () => "waiting for interruptible Pods to end",
  }),
  "quota-reached": worded<{ what: string; used: number; limit: number; needed: number }>({
    means: "The account has as many workers, GPUs, vCPU or Pods as it may have.",
    remedy: "Wait until something ends, or ask for a higher quota.",
    text: ({ what, used, limit, needed }) =>
      `account quota: ${used} of ${limit} ${what} in use${needed === 1 ? "" : `, needs ${needed}`}`,
  }),
  "spend-limit": worded<SpendLimit>({
    means: "The account has reached the monthly spend limit that it set itself.",
    remedy: "Raise the spend limit of the account, or wait for the next month.",
    text: overSpendLimit,
  }),
  "operator-spend-limit": worded<SpendLimit>({
    means: "The account has reached the monthly spend limit that the operator set for it.",
    remedy: "Ask the operator for a higher limit, or wait for the next month.",
    text: overSpendLimit,
  }),
  "key-spend-limit": worded<SpendLimit>({
    means: "The API key has reached its monthly spend limit.",
    remedy: "Use a key with a higher limit or with none, or wait for the next month.",
    text: overSpendLimit,
  }),
  "no-credit": worded({
    means: "The prepaid balance of the account is used up.",
    remedy: "Add credit to the account.",
    text: () => "no credit: the balance of the account is used up",
  }),
  "account-suspended": worded({
    means: "The operator has suspended the account. What runs continues, and nothing new starts.",
    remedy: "Ask the operator of the installation.",
    text: () => "account suspended by the operator of the installation",
  }),
  "spending-unread": worded({
    means: "The server is still adding up what the account has spent.",
    remedy: "Wait: it takes seconds.",
    text: () => "spend limit: still adding up what was spent so far",
  }),
  "machine-drained": worded<{ machine: string }>({
    means: "The operator is draining the machine.",
    remedy: "Nothing: another machine takes over if there is one.",
    text: ({ machine }) => `machine ${machine} is being drained`,
  }),
  "machine-gone": worded<{ machine: string }>({
    means: "The machine has been silent for so long that it counts as gone.",
    remedy: "Nothing: it is started elsewhere if possible.",
    text: ({ machine }) => `machine ${machine} is gone`,
  }),
  "place-lost": worded({
    means: "The program lost its place on the machine, for example to something more important.",
    remedy: "Nothing: it is started again as soon as there is room.",
    text: (_, about) => after("lost its place", about),
  }),
  "machine-silent": worded<{ machine: string; since: string }>({
    means: "The machine is silent at the moment, so nobody knows what runs there.",
    remedy: "Wait. If it lasts, ask the operator to look at the machine.",
    text: ({ machine, since }) => `machine ${machine}, which has been silent since ${since}`,
  }),
} as const satisfies Record<string, Entry>;
