/** Which spans a move of an instance begins and ends. What is written here goes into the move's own commit. */
import type { InstanceKind } from "../ports/compute/compute.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store, Write } from "../ports/store/store.ts";
import { priceOf } from "./prices.ts";
import { type KeptSpan, type Meterable, type Phase, spanId, spans } from "./span.ts";

export interface Metered {
  /** When it happened; now by default. */
  at?: number | undefined;
  /** Why the span that ends is not paid for. */
  free?: string;
}

interface Subject<T extends Meterable> {
  id: string;
  account: string;
  doc: T;
}

/** The instance as its record says it afterwards, and what is written with that. */
interface Moved<T extends Meterable> {
  doc: T;
  writes: Write[];
}

const FROZEN = "frozen";

export class Meter<T extends Meterable> {
  readonly #spans: Collection<KeptSpan>;
  readonly #phaseOf: (doc: T) => Phase | undefined;

  /** `phaseOf` says whether a program runs, stands still, or does neither. */
  constructor(store: Store, phaseOf: (doc: T) => Phase | undefined) {
    this.#spans = new Collection(store, spans);
    this.#phaseOf = phaseOf;
  }

  prepare(): Promise<void> {
    return this.#spans.prepare();
  }

  /** Of an instance that is put on record: one that already runs is metered from its start. */
  begin<D extends T>(subject: Subject<D>): Moved<D> {
    const { doc } = subject;
    const phase = this.#phaseOf(doc);
    return phase ? this.#open(subject, doc, phase, doc.startedAt!) : { doc, writes: [] };
  }

  /** Spans follow each other without a gap, and none is shorter than nothing, whatever the clock does. */
  move<D extends T>(before: Subject<T>, after: D, at: number, metered: Metered = {}): Moved<D> {
    const open = before.doc.span ?? undefined;
    const phase = this.#phaseOf(after);
    if (open?.phase === phase) return { doc: after, writes: [] };
    if (!open) return this.#open(before, after, phase!, after.startedAt!);
    const from = Math.max(at, open.from);
    const closing = this.#close(before, from, metered);
    if (!phase) return { doc: { ...after, span: null }, writes: [closing] };
    const opened = this.#open(before, after, phase, from);
    return { doc: opened.doc, writes: [closing, ...opened.writes] };
  }

  /** Its record goes, and with it the open span. */
  end(subject: Subject<T>, at: number, metered: Metered = {}): Write[] {
    const open = subject.doc.span;
    return open ? [this.#close(subject, Math.max(at, open.from), metered)] : [];
  }

  #open<D extends T>({ id, account }: Subject<T>, doc: D, phase: Phase, from: number): Moved<D> {
    const number = (doc.spans ?? 0) + 1;
    const { cluster, gpuType, gpuCount, flavor, vcpu, memoryMb, diskGb, dataCenter, image, template = null } = doc;
    const has = { gpuType, gpuCount, flavor, vcpu, memoryMb, diskGb };
    const kind: InstanceKind = cluster === undefined ? doc.kind : "member";
    const about = { instance: id, kind, owner: cluster ?? doc.owner, dataCenter, image, template };
    const free = phase === "frozen" ? { free: FROZEN } : {};
    const span: KeptSpan = { ...about, ...has, phase, price: priceOf(kind, has), from, to: null, ...free };
    const insert = this.#spans.inserting({ id: spanId(id, number), account, createdAt: from, doc: span });
    return { doc: { ...doc, spans: number, span: { phase, from } }, writes: [insert] };
  }

  /** The instance's own record guards it: nobody else can end this span in the same moment. */
  #close({ id, doc }: Subject<T>, to: number, { free }: Metered): Write {
    const set = { to, ...(free !== undefined && { free }) };
    return { do: "patch", kind: spans.kind, id: spanId(id, doc.spans!), set };
  }
}
