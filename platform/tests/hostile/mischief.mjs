/** Loaded into a real server before anything else. On a signal it causes errors that nobody handles. */
import { createRequire, syncBuiltinESMExports } from "node:module";
import { isMainThread } from "node:worker_threads";

function makeMischief() {
  const threads = createRequire(import.meta.url)("node:worker_threads");
  const started = [];
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      started.push(this);
    }
  };
  syncBuiltinESMExports();

  process.on("SIGUSR2", () => {
    // biome-ignore lint/nursery/noFloatingPromises: that is the mischief
    Promise.reject(new Error("mischief: a promise"));
    setTimeout(() => {
      throw new Error("mischief: a timer");
    });
    process.stderr.emit("error", new Error("mischief: EPIPE"));
  });
  process.on("SIGHUP", () => {
    for (const thread of started) thread.terminate();
  });
}

if (isMainThread) makeMischief();
