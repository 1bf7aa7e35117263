/** Stored documents: how a model names its index keys, and how documents written by older releases are read. */

export type Document = Record<string, unknown>;

/** Text values under which a record can be found; `undefined` means the record has no such key. */
export type Keys = Record<string, string | undefined>;

/** How records of one kind are kept. Pure data and pure functions: it belongs to the model. */
export interface Kept<T extends Document> {
  kind: string;
  /** The word that callers see for it; the kind by default. */
  called?: string;
  /** Format number of documents written now. Raise it together with an upcast. */
  v: number;
  /** Upcast `n` turns a document of format `n` into format `n + 1`. */
  upcasts?: Record<number, (old: Document) => Document>;
  /** No two records of one account share a value. */
  unique?: (doc: T) => Keys;
  /** No two records of the whole installation share a value. */
  uniqueEverywhere?: (doc: T) => Keys;
  /** Any number of records may share a value, and can be listed by it. One record may have several values. */
  listed?: (doc: T) => Record<string, string | readonly string[] | undefined>;
  /** Raise this number when the keys are computed differently. The store then rebuilds them at start. */
  keysVersion?: number;
}

export class NewerFormat extends Error {
  constructor(kind: string, found: number, known: number) {
    super(
      `the data holds ${kind} records of format ${found}, but this release of Millrace knows formats up to ${known}: ` +
        "it was written by a newer release; start that one, or restore a backup made before the upgrade",
    );
  }
}

/** Returns the document in today's format. Fields that this release does not know are kept unchanged. */
export function upcast<T extends Document>(kept: Kept<T>, stored: Document): T {
  let doc = stored;
  let format = Number(doc.v ?? 1);
  if (format > kept.v) throw new NewerFormat(kept.kind, format, kept.v);
  for (; format < kept.v; format++) {
    const step = kept.upcasts?.[format];
    if (!step) throw new Error(`${kept.kind} has no upcast from format ${format}`);
    doc = { ...step(doc), v: format + 1 };
  }
  return doc as T;
}
