/** Gives back what it gets. */
import { start } from "millrace-worker";

start({ handler: ({ input }) => input });
