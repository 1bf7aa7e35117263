/** Returns its input. */
import { start } from "millrace-worker";

start({ handler: ({ input }) => input });
