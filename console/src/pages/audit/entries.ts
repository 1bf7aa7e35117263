/** Entries of the audit log in words, and the pages that they lead to. */
import type { AuditEntry } from "@millrace/platform/resources/audit/model.ts";

/** Where the console shows a resource, by its word in the paths of the API. */
const PAGES: Record<string, string> = {
  pods: "/pods",
  serverless: "/serverless",
  clusters: "/clusters",
  templates: "/templates",
  "network-volumes": "/volumes",
  registries: "/registries",
  secrets: "/secrets",
};
/** Resources that share one page. */
const PLACES: Record<string, string> = {
  "api-keys": "/account/keys",
  "ssh-keys": "/account/ssh-keys",
  "s3-keys": "/account/s3-keys",
  people: "/account/people",
  invitations: "/account/people",
  account: "/account",
};

export function pageOf({ type, id }: NonNullable<AuditEntry["resource"]>): string | undefined {
  const page = PAGES[type];
  if (page !== undefined) return id === null ? page : `${page}/${id}`;
  return PLACES[type];
}

/** `updatePod` as `Update Pod`, with its action where there is one: `Pod action: stop`. */
export function operationText({ operation, action }: Pick<AuditEntry, "operation" | "action">): string {
  const words = operation.replace(/([a-z0-9])([A-Z])/g, "$1 $2").split(" ");
  const text = words.map((word, index) => (index === 0 ? capital(word) : lowered(word))).join(" ");
  return action ? `${text}: ${action}` : text;
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const KEPT = new Set(["Pod", "Pods", "API", "SSH", "S3"]);
const lowered = (word: string) => (KEPT.has(word) ? word : word.toLowerCase());

const ACTORS: Record<AuditEntry["actor"]["type"], string> = {
  key: "API key",
  pod: "Pod",
  worker: "Worker of",
  cli: "Command line",
  system: "Millrace",
} as Record<AuditEntry["actor"]["type"], string>;

/** Who did it: a person by name, a key by what it was called. */
export function actorText({ actor: { type, id, name } }: Pick<AuditEntry, "actor">): string {
  const kind = ACTORS[type];
  const called = name ?? id;
  if (kind === undefined) return called ?? type;
  return called === null ? kind : `${kind} ${called}`;
}

/** Ranges that a person picks, as the beginning that the API takes. */
const RANGES = {
  all: undefined,
  "1h": 3_600_000,
  "24h": 86_400_000,
  "7d": 7 * 86_400_000,
  "30d": 30 * 86_400_000,
};
export type RangeName = keyof typeof RANGES;

/** Whole minutes, so that a question stays the same while it is asked and its answer is kept. */
export function fromOf(range: RangeName, now: number): string | undefined {
  const ms = RANGES[range];
  return ms === undefined ? undefined : new Date(Math.floor((now - ms) / 60_000) * 60_000).toISOString();
}
