/** A problem as `application/problem+json`, exactly as the specification has it. */
import type { Problem } from "../../kernel/problem.ts";

export function problemJson({ title, status, detail, errors }: Problem): { contentType: string; body: string } {
  return { contentType: "application/problem+json", body: JSON.stringify({ title, status, detail, errors }) };
}
