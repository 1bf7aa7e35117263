/** A plain function: its return value is the job's output. */
import { start } from "millrace-worker";

start({ handler: ({ input }) => ({ greeting: `Hello, ${input.name}!` }) });
