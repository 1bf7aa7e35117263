/** Writes the diagrams of lifecycles into the documentation from their tables; a test fails when it was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { jobLifecycle } from "../platform/src/ports/queue/job.ts";
import { workerLifecycle } from "../platform/src/resources/workers/model.ts";

/** Documents that show a lifecycle, and which. */
export const shown = { "docs/jobs.md": jobLifecycle, "docs/workers.md": workerLifecycle };

export function withDiagram(text: string, { diagram }: { diagram(): string }): string {
  const block = `<!-- lifecycle -->\n\n\`\`\`mermaid\n${diagram()}\n\`\`\`\n\n<!-- end of lifecycle -->`;
  return text.replace(/<!-- lifecycle -->[\s\S]*<!-- end of lifecycle -->/, () => block);
}

if (import.meta.main) {
  for (const [path, lifecycle] of Object.entries(shown)) {
    const file = new URL(`../${path}`, import.meta.url);
    writeFileSync(file, withDiagram(readFileSync(file, "utf8"), lifecycle));
  }
}
