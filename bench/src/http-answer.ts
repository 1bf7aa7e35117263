/** Reads HTTP answers from a raw socket, with only what measuring needs. */

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Whether an answer is complete, by its length or by the end mark of a chunked one. */
export function isWhole(received: Buffer): boolean {
  const headerEnd = received.indexOf("\r\n\r\n");
  if (headerEnd < 0) return false;
  const header = received.toString("latin1", 0, headerEnd).toLowerCase();
  const length = header.indexOf("\r\ncontent-length: ");
  if (length >= 0) return received.length >= headerEnd + 4 + Number.parseInt(header.slice(length + 18), 10);
  if (header.includes("transfer-encoding: chunked")) return received.subarray(-5).equals(LAST_CHUNK);
  return true;
}

export function statusOf(answer: Buffer): number {
  return Number(answer.toString("latin1", 9, 12));
}

export function bodyOf(answer: Buffer): string {
  return answer.toString("utf8", answer.indexOf("\r\n\r\n") + 4);
}
