/** A plain function: what it returns is the job's output. */
import { start } from "millrace-worker";

start({ handler: ({ input }) => ({ greeting: `Hello, ${input.name}!` }) });
