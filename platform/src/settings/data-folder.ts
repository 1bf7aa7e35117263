/** Where an installation keeps its data if nobody names a folder. */
import { homedir } from "node:os";
import { join } from "node:path";

export const DEFAULT_DATA_FOLDER = join(homedir(), ".millrace");
