/** Worker affinity: which worker a caller wants to reach again. */
import { problem } from "../kernel/problem.ts";

/** `soft` prefers a worker, `strict` takes no other, `strict-resume` also wakes it when it is frozen. */
export type AffinityKind = "soft" | "strict" | "strict-resume";

export interface Affinity {
  kind: AffinityKind;
  worker: string;
}

const FORM = /^(?:(soft|strict|strict-resume) +)?([A-Za-z0-9_-]{1,64})$/;

/** `<id>` and `soft <id>` prefer a worker, `strict <id>` and `strict-resume <id>` require it. An empty text means no affinity. */
export function parseAffinity(header: string | undefined): Affinity | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const [, kind = "soft", worker] = FORM.exec(text) ?? [];
  if (worker === undefined)
    throw problem("invalid", "the worker affinity must be '<id>', 'strict <id>' or 'strict-resume <id>'");
  return { kind: kind as AffinityKind, worker };
}
