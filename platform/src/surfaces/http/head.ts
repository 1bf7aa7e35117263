/** The head of every answer leaves here: whatever somebody else determined of it, it is HTTP, or it is refused and leaves nothing behind. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/** What every client can read; RFC 9110 makes the phrase optional, and what stands in it is for people alone. */
const PHRASE = /^[\t\x20-\x7e]+$/;

/**
 * Throws where the status or a header is none, and then the response is as it was: Node keeps a phrase that it has refused, and would
 * refuse the next answer, which says what was wrong, for it again.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders | readonly string[],
  phrase = "",
): void {
  try {
    if (PHRASE.test(phrase)) response.writeHead(status, phrase, headers as string[]);
    else response.writeHead(status, headers as string[]);
  } catch (error) {
    response.statusMessage = "";
    throw error;
  }
}
