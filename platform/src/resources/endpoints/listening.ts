/** Where the application of a load-balancing endpoint listens, as its environment says. */
import { problem } from "../../kernel/problem.ts";

export interface Listening {
  /** Requests go here. */
  port: number;
  healthPort: number;
  healthPath: string;
}

/** `PORT` is 80 by default, `PORT_HEALTH` the same port, `HEALTH_CHECK_PATH` is `/ping`. */
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
  // Not with its text, which may have come from a secret.
  if (!(port >= 1 && port <= 65_535)) throw problem("rule-broken", `'${name}' must be a port from 1 to 65535.`);
  return port;
}
