/** The documents whose code blocks run in a test. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Decisions tell what was decided once. They hold no code to run. */
const folders = ["docs", "docs/guides", "docs/clients", "docs/recipes"];
const markdownIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`)
    .sort();

export const pages = ["README.md", "CONTRIBUTING.md", "worker/README.md", ...folders.flatMap(markdownIn)];
