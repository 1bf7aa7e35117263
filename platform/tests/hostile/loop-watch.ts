/** A real server whose longest turns are measured. */
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Server, type StartOptions, startServer } from "../process.ts";

const PRELOAD = fileURLToPath(new URL("./loop-watch.mjs", import.meta.url));

export interface WatchedServer extends Server {
  /** The longest turn of the main thread since the last call, in milliseconds of processor time. */
  longestTurn(): Promise<number>;
}

export async function startWatched(data: string, { env, ...options }: StartOptions = {}): Promise<WatchedServer> {
  const path = join(data, "..", "loop.sock");
  const watched = { LOOP_WATCH: path, NODE_OPTIONS: `--import=${PRELOAD}` };
  const server = await startServer(data, { ...options, env: { ...env, ...watched } });
  return { ...server, longestTurn: async () => Number(await text(connect(path))) };
}
