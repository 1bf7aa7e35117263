/** The server in front of every peer: Fastify, JSON in and out. */
import Fastify from "fastify";

export interface Peer {
  /** Resolves with the job's id once the peer has accepted it. */
  run(input: object): Promise<string>;
  /** Resolves with the job's result. */
  runsync?(input: object): Promise<unknown>;
  /** How many jobs have not ended yet. */
  waiting(): Promise<number>;
}

export async function serve(port: number, peer: Peer): Promise<void> {
  const app = Fastify({ logger: false });
  app.post("/run", async (request) => {
    const { input } = request.body as { input: object };
    return { id: await peer.run(input), status: "IN_QUEUE" };
  });
  app.post("/runsync", async (request) => {
    const { input } = request.body as { input: object };
    return { output: await peer.runsync!(input), status: "COMPLETED" };
  });
  app.get("/waiting", async () => ({ waiting: await peer.waiting() }));
  await app.listen({ port, host: "127.0.0.1" });
  ready();
}

/** Counts what a worker has completed and reports it when asked. */
export function countCompletions(): () => void {
  let completed = 0;
  process.on("message", () => process.send!({ kind: "count", completed }));
  return () => {
    completed++;
  };
}

export function ready(): void {
  process.once("disconnect", () => process.exit(0));
  process.once("SIGTERM", () => process.exit(0));
  process.send!({ kind: "ready" });
}

export const CONCURRENCY = 128;
