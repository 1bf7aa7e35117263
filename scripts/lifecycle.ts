/** Writes the job lifecycle's diagram into docs/jobs.md from the table; a test fails when it was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { jobLifecycle } from "../platform/src/ports/queue/job.ts";

const file = new URL("../docs/jobs.md", import.meta.url);

export function withDiagram(text: string): string {
  const block = `<!-- lifecycle -->\n\n\`\`\`mermaid\n${jobLifecycle.diagram()}\n\`\`\`\n\n<!-- end of lifecycle -->`;
  return text.replace(/<!-- lifecycle -->[\s\S]*<!-- end of lifecycle -->/, () => block);
}

if (import.meta.main) writeFileSync(file, withDiagram(readFileSync(file, "utf8")));
