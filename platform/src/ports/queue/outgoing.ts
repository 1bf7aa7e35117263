/** Messages by caller and target: one with a hundred thousand messages must not hide another that has one. */
import type { Outgoing, OutgoingAsk, OutgoingPage, Teller, TellersPage } from "./queue.ts";

/** How many targets are looked at in one step. A teller with more of them is read in several steps. */
export const TARGETS_IN_A_PAGE = 100;

const TARGET_LENGTH = 200;

/**
 * Returns where a URL leads, without its path and query. It need not be exact, since it only decides which messages wait for each other.
 */
export function targetOf(url: string): string {
  const origin = /^[^/]*\/\/[^/?#]*/.exec(url)?.[0] ?? url;
  return origin.slice(0, TARGET_LENGTH).toLowerCase().toWellFormed();
}

/** `seen` has the tellers that were looked at, sorted, and at most `limit` of them. */
export function tellersPageOf(seen: readonly (Teller & { isDue: boolean })[], limit: number): TellersPage {
  const named = seen.map(({ endpoint, caller }) => ({ endpoint, caller }));
  const tellers = named.filter((_, n) => seen[n]!.isDue);
  return seen.length < limit ? { tellers } : { tellers, next: named.at(-1)! };
}

/** `heads` has the first due message of each target, sorted by target, and at most `TARGETS_IN_A_PAGE` of them. */
export function pageOf(heads: readonly Outgoing[], { now, limit, except }: OutgoingAsk): OutgoingPage {
  const messages: Outgoing[] = [];
  for (const head of heads) {
    if (head.dueAt > now || except.includes(head.target)) continue;
    messages.push(head);
    if (messages.length >= limit) return { messages, next: head.target };
  }
  return heads.length < TARGETS_IN_A_PAGE ? { messages } : { messages, next: heads.at(-1)!.target };
}
