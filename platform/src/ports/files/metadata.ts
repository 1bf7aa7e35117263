/** Where a volume keeps what clients said of a file beside its contents: among the hidden files, one for each path. */
import { hash } from "node:crypto";
import type { FilePath, Files } from "./files.ts";

const FOLDER = "metadata";

/** A new file at the path takes the place of what was said of the old one. */
export const metadataPlace = (path: FilePath): FilePath => [FOLDER, hash("sha256", path.join("/"), "hex")];

/** What is left would be ignored, since it names other contents, but it takes room. */
export const forgetMetadata = (files: Files, path: FilePath): Promise<void> => files.hidden.remove(metadataPlace(path));
