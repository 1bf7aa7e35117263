/** Threads and small processes, which other code starts by their file names. Each is built as a file of its own. The names of threads end with `-thread`. */
export const PROGRAMS = [
  "adapters/docker/watchdog-program.ts",
  "adapters/machine/dialer-process.ts",
  "adapters/sqlite/sqlite-lists-thread.ts",
  "adapters/sqlite/writer-thread.ts",
  "surfaces/invoke/large-json-thread.ts",
];
