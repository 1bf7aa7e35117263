/** Worker affinity: what a caller says of the worker that it wants to reach again. */
import { problem } from "../kernel/problem.ts";

/** `soft` prefers a worker, `strict` takes no other, `strict-resume` also wakes it when it is frozen. */
export type AffinityKind = "soft" | "strict" | "strict-resume";

export interface Affinity {
  kind: AffinityKind;
  worker: string;
}

const FORM = /^(?:(soft|strict|strict-resume) +)?([A-Za-z0-9_-]{1,64})$/;

/** `<id>` and `soft <id>` prefer, `strict <id>` and `strict-resume <id>` insist; an empty text says nothing. */
export function parseAffinity(header: string | undefined): Affinity | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const [, kind = "soft", worker] = FORM.exec(text) ?? [];
  if (worker === undefined)
    throw problem("invalid", "the worker affinity must be '<id>', 'strict <id>' or 'strict-resume <id>'");
  return { kind: kind as AffinityKind, worker };
}
