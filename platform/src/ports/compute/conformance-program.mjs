/** The program of the conformance suite on a real machine: does the steps that its argument lists. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";

/** Listened to from the beginning: a test may ask as soon as it has read a line. */
const asked = new Promise((resolve) => process.on("SIGTERM", resolve));
const stay = () => new Promise(() => setInterval(() => {}, 60_000));
const kept = [];

const acts = {
  write: (text, { times = 1 }) => writeSync(1, text.repeat(times)),
  writeVariable: (name) => writeSync(1, `${JSON.stringify(process.env[name])}\n`),
  async stayUntilAsked(code) {
    void stay();
    await asked;
    process.exit(code);
  },
  stayWhateverIsAsked: () => stay(),
  async echoOn(port) {
    const host = process.env.LISTEN_HOST ?? "0.0.0.0";
    const server = createServer((socket) => socket.on("error", () => {}).pipe(socket));
    await new Promise((resolve) => server.listen(port, host, resolve));
    writeSync(1, "listening\n");
    await asked;
    process.exit(0);
  },
  pauseMs: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  leaveChild: () => spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref(),
  takeMemoryMb(megabytes) {
    for (let taken = 0; taken < megabytes; taken += 16) kept.push(Buffer.alloc(16 * 1_048_576, 1));
  },
  save: (text, { in: file, times = 1 }) => writeFileSync(file, text.repeat(times)),
  writeSaved: (file) => writeSync(1, `${existsSync(file) ? readFileSync(file) : "nothing"}\n`),
  kill: (signal) => process.kill(process.pid, signal),
  exit: (code) => process.exit(code),
};

for (const step of JSON.parse(process.argv[2])) {
  const [[name, value]] = Object.entries(step);
  await acts[name](value, step);
}
