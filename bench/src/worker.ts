/** A worker on our own library that returns its input. */
import { start } from "../../worker/src/main.ts";

const { env, concurrency } = JSON.parse(process.argv[2]!) as { env: Record<string, string>; concurrency: number };

start({ env, args: [], concurrency, handler: ({ input }) => input });
process.send!({ kind: "ready" });
process.once("disconnect", () => process.exit(0));
