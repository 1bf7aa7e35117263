/** What somebody may send before it is known who it is: a short line, then little. The library looks at neither in time. */
import type { Socket } from "node:net";

/** Of the line with which a client begins, by RFC 4253. */
const LONGEST_IDENTIFICATION = 255;
/** Enough for every key that somebody may offer: those of a dozen tries take some 50 KB. */
const MOST_BEFORE_LOGIN = 262_144;
const IDENTIFICATION = /^SSH-(2\.0|1\.99)-[^ \r]+( [^\r]*)?\r?$/;
const NEW_LINE = 10;

/** Tells of the first thing that is wrong, until it is known who it is. */
export function watchFirstBytes(socket: Socket, isKnown: () => boolean, wrong: (reason: string) => void): void {
  let received = 0;
  let line: Buffer | undefined = Buffer.alloc(0);
  const look = (chunk: Buffer) => {
    if (isKnown()) return void socket.off("data", look);
    received += chunk.length;
    if (received > MOST_BEFORE_LOGIN) return wrong(`more than ${MOST_BEFORE_LOGIN} bytes before a login`);
    if (!line) return;
    // Never more than this is put together: what is longer is wrong already.
    line = Buffer.concat([line, chunk.subarray(0, LONGEST_IDENTIFICATION + 1 - line.length)]);
    const end = line.indexOf(NEW_LINE);
    if (end < 0 && line.length <= LONGEST_IDENTIFICATION) return;
    if (end < 0) return wrong(`no line end within the first ${LONGEST_IDENTIFICATION} bytes`);
    if (!IDENTIFICATION.test(line.toString("latin1", 0, end))) return wrong("the first line is none of an SSH client");
    line = undefined;
  };
  socket.on("data", look);
}
