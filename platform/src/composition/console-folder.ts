/** Where the built web console is: the one place that says so. */
import { join } from "node:path";

/** The repository's own build. The folder need not be there: without a console, people get a page with links. */
export const consoleFolder = (): string => join(import.meta.dirname, "../../../console/dist");
