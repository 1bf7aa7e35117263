/** Sends the audit log to a syslog server in the form of RFC 5424: by UDP, or by TCP with the length before each message. */
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { hostname } from "node:os";
import { promisify } from "node:util";
import type { Clock } from "../../kernel/clock.ts";
import type { LineKeeper } from "../../kernel/line-keeper.ts";

export interface SyslogAddress {
  protocol: "udp" | "tcp";
  host: string;
  port: number;
}

/** Facility 13, "log audit", and severity 5, "notice". */
const PRIORITY = 13 * 8 + 5;
const TIMEOUT_MS = 5000;

export function auditSyslog({ protocol, host, port }: SyslogAddress, clock: Clock): LineKeeper {
  const name = `${protocol}://${host}:${port}`;
  const from = `${hostname().replaceAll(/[^\x21-\x7e]/g, "") || "-"} millrace`;
  const message = (line: string) => Buffer.from(`<${PRIORITY}>1 ${atOf(line)} ${from} ${process.pid} audit - ${line}`);
  const send = protocol === "udp" ? sendDatagrams : sendStream;
  return { name, keep: (lines) => send(lines.map(message), { host, port }, clock) };
}

/** Every line begins with its time. */
const atOf = (line: string) => /^\{"at":"([^"]+)"/.exec(line)?.[1] ?? "-";

type Target = Pick<SyslogAddress, "host" | "port">;

/** The network may lose a datagram, and nobody hears of it. */
async function sendDatagrams(messages: readonly Buffer[], { host, port }: Target): Promise<void> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  // A failure to send reaches the callback of `send`.
  socket.on("error", () => {});
  const send = promisify<Buffer, number, string, void>((bytes, to, at, done) =>
    socket.send(bytes, to, at, (error) => done(error)),
  );
  try {
    for (const bytes of messages) await send(bytes, port, host);
  } finally {
    socket.close();
  }
}

/** Resolves when the server has closed the connection after everything was sent. */
function sendStream(messages: readonly Buffer[], target: Target, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(target);
    const late = clock.after(TIMEOUT_MS, () => socket.destroy(new Error("the syslog server did not take it in time")));
    socket.once("error", reject);
    socket.once("close", (hasFailed) => {
      late.cancel();
      if (!hasFailed) resolve();
    });
    socket.resume();
    socket.once("connect", () => {
      for (const bytes of messages) socket.write(Buffer.concat([Buffer.from(`${bytes.length} `), bytes]));
      socket.end();
    });
  });
}
