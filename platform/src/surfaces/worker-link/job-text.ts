/** A job as a worker gets it: the caller's own body with our keys behind it, since the last of two equal keys counts. */
import { openCredential } from "../../jobs/credential.ts";
import type { Claimed } from "../../ports/queue/queue.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import { splice } from "../invoke/record.ts";

export async function jobText({ job, body }: Claimed, vault: Vault, withAttempt = false): Promise<string | Uint8Array> {
  const readable = job.sealed ? await openCredential(vault, body) : body;
  return splice(readable, withAttempt ? `"id":"${job.id}","attempt":${job.attempt}}` : `"id":"${job.id}"}`);
}

/** Several of them between `open` and `close`, joined as text, or as bytes when one of them is large. */
export function joined(
  texts: (string | Uint8Array)[],
  [open, between, close]: [string, string, string],
): string | Uint8Array {
  if (texts.every((text) => typeof text === "string")) return `${open}${texts.join(between)}${close}`;
  const parts = texts.flatMap((text, i) => [Buffer.from(i === 0 ? open : between), Buffer.from(text as Uint8Array)]);
  return Buffer.concat([...parts, Buffer.from(close)]);
}
