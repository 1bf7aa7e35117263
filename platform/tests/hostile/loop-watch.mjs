/**
 * Loaded into a real server before anything else. It measures how long one turn of the main thread blocks all others, in processor time,
 * which other programs on a busy machine do not lengthen. Each connection gets the longest turn since the last one.
 */
import { createServer } from "node:net";
import { isMainThread } from "node:worker_threads";

const socket = process.env.LOOP_WATCH;
delete process.env.LOOP_WATCH;
delete process.env.NODE_OPTIONS;

const usedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

function watch() {
  let [longest, last] = [0, usedMs()];
  const look = () => {
    const now = usedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(look, 1).unref();
  createServer((asker) => {
    look();
    asker.on("error", () => {});
    asker.end(`${longest}`);
    longest = 0;
  })
    .listen(socket)
    .unref();
}

if (socket && isMainThread) watch();
