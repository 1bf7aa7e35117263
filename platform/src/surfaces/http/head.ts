/** Writes the head of every answer. A status or header that is not valid HTTP is refused, and leaves no trace in the response. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/** Characters that every client can read. RFC 9110 makes the phrase optional, and it is meant for people only. */
const PHRASE = /^[\t\x20-\x7e]+$/;

/**
 * Throws if the status or a header is invalid, and leaves the response as it was. Otherwise Node would keep the phrase that it refused,
 * and would also refuse the answer that explains the error.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders | readonly string[],
  phrase = "",
): void {
  try {
    const shown = shownPhrase(phrase);
    if (shown !== "") response.writeHead(status, shown, headers as string[]);
    else response.writeHead(status, headers as string[]);
  } catch (error) {
    response.statusMessage = "";
    throw error;
  }
}

/** An empty phrase means the usual one of the status. */
export const shownPhrase = (phrase = ""): string => (phrase !== "" && PHRASE.test(phrase) ? phrase : "");
