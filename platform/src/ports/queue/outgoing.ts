/** Messages by their targets: a target with a hundred thousand of them must not hide another that has one. */
import type { Outgoing, OutgoingAsk, OutgoingPage } from "./queue.ts";

/** So many targets are looked at in one step; an endpoint that has more of them is read in several. */
export const TARGETS_IN_A_PAGE = 100;

const TARGET_LENGTH = 200;

/** Where a URL leads, without its path and query. It need not be exact: it only says which messages wait for each other. */
export function targetOf(url: string): string {
  const origin = /^[^/]*\/\/[^/?#]*/.exec(url)?.[0] ?? url;
  return origin.slice(0, TARGET_LENGTH).toLowerCase().toWellFormed();
}

/** `heads` has of each target the message that is due first, by the names of the targets, `TARGETS_IN_A_PAGE` of them if there are as many. */
export function pageOf(heads: readonly Outgoing[], { now, limit, except }: OutgoingAsk): OutgoingPage {
  const messages: Outgoing[] = [];
  for (const head of heads) {
    if (head.dueAt > now || except.includes(head.target)) continue;
    messages.push(head);
    if (messages.length >= limit) return { messages, next: head.target };
  }
  return heads.length < TARGETS_IN_A_PAGE ? { messages } : { messages, next: heads.at(-1)!.target };
}
