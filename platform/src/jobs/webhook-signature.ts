/** Signs a webhook, so that its receiver can tell that it came from here and is not old. */
import { createHmac } from "node:crypto";
import { MIB } from "../kernel/operation.ts";
import { bytesInSlices, Slices } from "../kernel/slices.ts";

/** Signing 20 MB takes 15 ms or more, so it is done in slices. */
const SIGNED_AT_ONCE = 4 * MIB;

/** Returns the header `t=<seconds>,v1=<hex>`, computed over `<seconds>.<body>`, or none if there is no secret. */
export async function signatureOf(
  body: readonly Uint8Array[],
  secret: string | undefined,
  now: number,
): Promise<Record<string, string>> {
  if (!secret) return {};
  const seconds = Math.floor(now / 1000);
  const signing = createHmac("sha256", secret).update(`${seconds}.`);
  const slices = new Slices(SIGNED_AT_ONCE);
  for (const slice of bytesInSlices(body, SIGNED_AT_ONCE)) {
    signing.update(slice);
    await slices.did(slice.length);
  }
  return { "X-Millrace-Signature": `t=${seconds},v1=${signing.digest("hex")}` };
}
