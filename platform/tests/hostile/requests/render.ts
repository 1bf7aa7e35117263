/** Turns a draft into the bytes to send. */

import { type Draft, targetOf } from "./draft.ts";
import type { Bytes } from "./exchange.ts";

/** A complete request is answered within this time, however busy the machine is. */
export const ANSWER_MS = 60_000;

const SHORT_MS = 100;
const LONG_MS = 1500;

/** Requests that may wait are mostly abandoned early, which also tests how the server handles that. */
export function render(draft: Draft, share: number): Bytes {
  const { isFramed, route, isShort, method } = draft;
  const bytes = draft.raw ?? bytesOf(draft);
  const isHead = method === "HEAD";
  if ((route.mayLast && route.of !== "app") || isShort)
    return { bytes, isFramed, isHead, mayLast: true, patienceMs: SHORT_MS + share * SHORT_MS };
  if (route.mayLast || isHeldFor(draft)) return { bytes, isFramed, isHead, mayLast: true, patienceMs: LONG_MS };
  return { bytes, isFramed, isHead, mayLast: false, patienceMs: ANSWER_MS };
}

/**
 * Whether the server may hold the request: a worker with a wrong key waits for its refusal, an announced body may be waited for, and a
 * changed path may lead to a route that waits.
 */
function isHeldFor({ route, changes, path, params, person }: Draft): boolean {
  if (Object.values(params).some((id) => person.balanced.has(id))) return true;
  if (route.key === "worker") return changes.length > 0;
  const isElsewhere = path !== undefined || Object.values(params).some((value) => /[^\w-]/.test(value));
  return (
    isElsewhere ||
    changes.some((change) => change === "the method" || change === "a header" || change === "the framing")
  );
}

function bytesOf(draft: Draft): Buffer {
  const { method, headers, body } = draft;
  const sent = body && ("value" in body ? JSON.stringify(body.value) : body.text);
  const content = Buffer.from((sent ?? "") as string);
  const names = new Set(headers.map(([name]) => name));
  const isAnnounced = names.has("Content-Length") || names.has("Transfer-Encoding");
  const all =
    isAnnounced || (!body && content.length === 0) ? headers : [...headers, ["Content-Length", `${content.length}`]];
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const start = Buffer.from(`${method} ${onTheWire(targetOf(draft))} HTTP/1.1\r\n${onTheWire(head)}\r\n`, "latin1");
  return Buffer.concat([start, content]);
}

/** Characters outside of Latin-1 are sent as UTF-8. */
const onTheWire = (text: string) =>
  text.replace(/[\u{100}-\u{10ffff}]/gu, (character) => Buffer.from(character).toString("latin1"));
