/** Writes the examples into their page of the documentation: what each README says, then its programs. A test fails if this was forgotten. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const folder = new URL("../examples/", import.meta.url);
/** In the order in which a reader meets them. */
export const examples = [
  "echo",
  "streaming",
  "binary-output",
  "progress",
  "concurrency",
  "balanced-app",
  "webhook",
  "batch",
  "cluster",
];

const MARKED = /<!-- examples -->[\s\S]*<!-- end of examples -->/;

function chapter(name: string): string {
  const programs = readdirSync(new URL(`${name}/`, folder)).filter((file) => file.endsWith(".ts"));
  const read = (file: string) => readFileSync(new URL(`${name}/${file}`, folder), "utf8").trimEnd();
  const shown = programs.map((program) => {
    const place = `examples/${name}/${program}`;
    return `\`${place}\`:\n\n<!-- run by: ${place} -->\n\`\`\`ts\n${read(program)}\n\`\`\``;
  });
  return [`#${read("README.md")}`, ...shown].join("\n\n");
}

export function withExamples(text: string): string {
  if (!MARKED.test(text)) throw new Error("the document has no place for the examples");
  const chapters = examples.map(chapter).join("\n\n");
  return text.replace(MARKED, () => `<!-- examples -->\n\n${chapters}\n\n<!-- end of examples -->`);
}

if (import.meta.main) {
  const page = new URL("../docs/examples.md", import.meta.url);
  writeFileSync(page, withExamples(readFileSync(page, "utf8")));
}
