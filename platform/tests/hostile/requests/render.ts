/** From a draft to the bytes that are sent. */

import { type Draft, targetOf } from "./draft.ts";
import type { Bytes } from "./exchange.ts";

/** However busy the machine, a request that is all there is answered within this. */
export const ANSWER_MS = 60_000;

const SHORT_MS = 100;
const LONG_MS = 1500;

/** Of those that the server may keep waiting, most are let go soon: that is a test of its own. */
export function render(draft: Draft, share: number): Bytes {
  const { isFramed, route, isShort, method } = draft;
  const bytes = draft.raw ?? bytesOf(draft);
  const isHead = method === "HEAD";
  if ((route.mayLast && route.of !== "app") || isShort)
    return { bytes, isFramed, isHead, mayLast: true, patienceMs: SHORT_MS + share * SHORT_MS };
  if (route.mayLast || isHeldFor(draft)) return { bytes, isFramed, isHead, mayLast: true, patienceMs: LONG_MS };
  return { bytes, isFramed, isHead, mayLast: false, patienceMs: ANSWER_MS };
}

/** A worker with a wrong key waits for its refusal; a body that is announced to a route may be waited for; another route may hold. */
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

/** UTF-8 where a character is none of Latin-1. */
const onTheWire = (text: string) =>
  text.replace(/[\u{100}-\u{10ffff}]/gu, (character) => Buffer.from(character).toString("latin1"));
