/** The program that the conformance suite runs on a real machine: it does the steps that its argument lists. */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { connect, createServer } from "node:net";

/** Registered at once, since a test may ask the program to end as soon as it has read a line. */
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
  async call(host, { port, isPatient = false }) {
    while (isPatient && !(await answers(host, port))) await acts.pauseMs(50);
    writeSync(1, isPatient || (await answers(host, port)) ? "reached\n" : "unreachable\n");
  },
  pauseMs: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  leaveChild: () => spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref(),
  takeMemoryMb(megabytes) {
    for (let taken = 0; taken < megabytes; taken += 16) kept.push(Buffer.alloc(16 * 1_048_576, 1));
  },
  async save(text, { in: file, times = 1, isPatient = false }) {
    for (const piece = 16 * 1_048_576; ; await acts.pauseMs(50)) {
      try {
        writeFileSync(file, "");
        for (let left = times; left > 0; left -= piece) appendFileSync(file, text.repeat(Math.min(left, piece)));
        return;
      } catch (error) {
        if (!isPatient || error.code !== "ENOSPC") throw error;
      }
    }
  },
  fillMb: (megabytes, { in: file }) => writeFileSync(file, Buffer.alloc(megabytes * 1_048_576, 1)),
  burnMs(ms) {
    const used = () => Object.values(process.cpuUsage()).reduce((sum, part) => sum + part, 0) / 1_000;
    while (used() < ms);
  },
  writeSaved: (file) => writeSync(1, `${existsSync(file) ? readFileSync(file) : "nothing"}\n`),
  count(file) {
    const times = existsSync(file) ? Number(readFileSync(file)) + 1 : 1;
    writeFileSync(file, String(times));
    writeSync(1, `${times}\n`);
  },
  writeError: (text) => writeSync(2, text),
  async echoInput() {
    for await (const chunk of process.stdin) await new Promise((resolve) => process.stdout.write(chunk, resolve));
  },
  writeFolder: () => writeSync(1, `${process.cwd()}\n`),
  async writeSize(when) {
    const write = () => writeSync(1, process.stdout.isTTY ? `${process.stdout.getWindowSize().join("x")}\n` : "none\n");
    write();
    if (when === "once") return;
    process.stdout.on("resize", write);
    await stay();
  },
  ignoreHangUp: () => process.on("SIGHUP", () => {}),
  kill: (signal) => process.kill(process.pid, signal),
  exit: (code) => process.exit(code),
};

/** Long enough for a slow machine. A peer that cannot be reached refuses at once or never answers. */
const ANSWER_MS = 1_500;

function answers(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWER_MS });
    const end = (isReached) => {
      socket.destroy();
      resolve(isReached);
    };
    socket.on("connect", () => socket.write("hello"));
    socket.on("data", () => end(true));
    for (const event of ["error", "timeout", "end"]) socket.on(event, () => end(false));
  });
}

for (const step of JSON.parse(process.argv[2])) {
  const [[name, value]] = Object.entries(step);
  await acts[name](value, step);
}
