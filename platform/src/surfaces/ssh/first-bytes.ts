/** Limits what a client may send before its login: one short line, then little more. The library does not check either in time. */
import type { Socket } from "node:net";

/** The longest first line of a client, by RFC 4253. */
const LONGEST_IDENTIFICATION = 255;
/** Enough for every key that a client may offer: a dozen tries take about 50 KB. */
const MOST_BEFORE_LOGIN = 262_144;
const IDENTIFICATION = /^SSH-(2\.0|1\.99)-[^ \r]+( [^\r]*)?\r?$/;
const NEW_LINE = 10;

/** Reports the first violation, until the client has logged in. */
export function watchFirstBytes(socket: Socket, isKnown: () => boolean, wrong: (reason: string) => void): void {
  let received = 0;
  let line: Buffer | undefined = Buffer.alloc(0);
  const look = (chunk: Buffer) => {
    if (isKnown()) return void socket.off("data", look);
    received += chunk.length;
    if (received > MOST_BEFORE_LOGIN) return wrong(`more than ${MOST_BEFORE_LOGIN} bytes before a login`);
    if (!line) return;
    // No more than this is collected, since a longer line is already wrong.
    line = Buffer.concat([line, chunk.subarray(0, LONGEST_IDENTIFICATION + 1 - line.length)]);
    const end = line.indexOf(NEW_LINE);
    if (end < 0 && line.length <= LONGEST_IDENTIFICATION) return;
    if (end < 0) return wrong(`no line end within the first ${LONGEST_IDENTIFICATION} bytes`);
    if (!IDENTIFICATION.test(line.toString("latin1", 0, end))) return wrong("the first line is none of an SSH client");
    line = undefined;
  };
  socket.on("data", look);
}
