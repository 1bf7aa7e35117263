/** After each test file: what belongs to the whole process is as the file found it, because other files share the process. */
import { afterAll, vi } from "vitest";

/** Libraries listen to the end of the process once they are loaded. Nobody else's test may hear these. */
const HEARD = ["SIGINT", "SIGTERM", "SIGHUP", "warning", "uncaughtException", "unhandledRejection"];

const state = () => ({
  "working directory": process.cwd(),
  "exit code": process.exitCode,
  "fake timers": vi.isFakeTimers(),
  "listeners of the process": String(HEARD.map((name) => `${name} ${process.listenerCount(name)}`)),
});

const umask = process.umask();
const before = state();
const variables = { ...process.env };

afterAll(() => {
  // Opening a data folder sets it for the process, as a server or a command needs it.
  process.umask(umask);
  const after = Object.entries(state());
  const left = after.filter(([what, value]) => before[what as keyof typeof before] !== value).map(String);
  // Their values may be secret, so only names are shown.
  const names = new Set([...Object.keys(variables), ...Object.keys(process.env)]);
  for (const name of names) if (variables[name] !== process.env[name]) left.push(`environment variable ${name}`);
  if (left.length > 0) throw new Error(`this file changed what other files share: ${left.join("; ")}`);
});
