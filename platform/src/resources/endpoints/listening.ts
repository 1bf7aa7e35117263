/** Reads where the application of a load-balancing endpoint listens, from its environment. */
import { problem } from "../../kernel/problem.ts";

export interface Listening {
  /** The port that gets the requests. */
  port: number;
  healthPort: number;
  healthPath: string;
}

/** `PORT` defaults to 80, `PORT_HEALTH` to the same port, and `HEALTH_CHECK_PATH` to `/ping`. */
export function listeningOf(env: Readonly<Record<string, string>>): Listening {
  const port = portIn(env, "PORT") ?? 80;
  return { port, healthPort: portIn(env, "PORT_HEALTH") ?? port, healthPath: healthPathOf(env) };
}

export function healthPathOf({ HEALTH_CHECK_PATH: path }: Readonly<Record<string, string>>): string {
  if (!path) return "/ping";
  return path.startsWith("/") ? path : `/${path}`;
}

function portIn(env: Readonly<Record<string, string>>, name: "PORT" | "PORT_HEALTH"): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  // The message leaves out the value, which may come from a secret.
  if (!(port >= 1 && port <= 65_535)) throw problem("rule-broken", `'${name}' must be a port from 1 to 65535.`);
  return port;
}
