/** Makes the machines of this node have the models on record, and removes what is no longer. Each step is safe to repeat. */
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import { resourceId } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import type { Random } from "../../kernel/random.ts";
import { because } from "../../kernel/reason.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import { VolumeRefused, type Volumes } from "../../ports/compute/volumes.ts";
import { FileRefused, type Files } from "../../ports/files/files.ts";
import type { Signals } from "../../ports/signals/signals.ts";
import { SHARED_STORAGE } from "../volumes/model.ts";
import { fill, type ModelSource, sourceIn, volumeGb } from "./fill.ts";
import { copyId, copyLifecycle, type KeptCopy, modelLifecycle, volumeOf } from "./model.ts";
import { type CopyItem, EVERYONE, type ModelItem, type ModelRecords } from "./records.ts";
import { ModelRefused, type Snapshot } from "./snapshot.ts";

export interface ModelCareParts {
  records: ModelRecords;
  machines: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Whether this node runs the machine now. */
  holds: (machine: string) => boolean;
  node: string;
  signals: Signals;
  clock: Clock;
  random: Random;
  log: Log;
  failed: Failed;
  /** Opens a folder of this machine that the operator named. Throws ModelRefused. Without it there are none. */
  openFolder?: ((path: string) => Promise<Files>) | undefined;
  /** The files of a copy on a machine of another node. Undefined while that node is away. */
  elsewhere?: ((model: ModelItem, machine: string) => Promise<ModelSource | undefined>) | undefined;
  /** Instances on any machine that may have the volume mounted. */
  mountedBy: (volume: string) => Promise<readonly string[]>;
  /** Called when workers may find a model that they did not find before. */
  changed: () => void;
}

const LOOK_MS = 4000;
const AGAIN_MS = 60_000;
const PROGRESS_MS = 1000;
const KEEP = "keep models";
/** The files of models are removed within a run. */
const LONGEST_MS = 3_600_000;
const TOPIC = "fleet:models";

/** A machine, or storage that machines share, and its volumes. */
interface Holder {
  id: string;
  volumes: Volumes;
}

interface From {
  source: ModelSource;
  /** Whether these are the operator's files, and not another copy. */
  isOrigin: boolean;
}

export class ModelCare implements AsyncDisposable {
  readonly #parts: ModelCareParts;
  readonly #process: string;
  readonly #filling = new Map<string, Promise<void>>();
  readonly #looking: Duty;
  readonly #stopListening: () => void;
  #isOver = false;

  constructor(parts: ModelCareParts) {
    this.#parts = parts;
    this.#process = resourceId(parts.random);
    const { clock, signals, failed } = parts;
    this.#looking = every(clock, { name: KEEP, everyMs: LOOK_MS, longestMs: LONGEST_MS }, () => this.#look(), failed);
    this.#stopListening = signals.listen(TOPIC, () => this.#soon());
    this.#soon();
  }

  /** Looks again soon, on every node. */
  tend(): void {
    this.#parts.signals.emit(TOPIC);
    this.#soon();
  }

  /** The files of a copy on a machine of this node. */
  async filesAt(model: string, holder: string): Promise<Files | undefined> {
    const copy = await this.#parts.records.copies.get(copyId(model, holder));
    if (copy?.doc.state !== "READY") return undefined;
    return this.#holders()
      .find(({ id }) => id === holder)
      ?.volumes.files(volumeOf(model));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#stopListening();
    await this.#looking[Symbol.asyncDispose]();
    await Promise.all(this.#filling.values());
  }

  #soon(): void {
    if (!this.#isOver) floating(this.#looking.soon(), named(this.#parts.failed, KEEP));
  }

  #holders(): Holder[] {
    const held = this.#parts.machines.filter(({ id }) => this.#parts.holds(id));
    const all = held.flatMap(({ id, compute: { volumes } }) =>
      volumes ? [{ id: volumes.shared ? SHARED_STORAGE : id, volumes }] : [],
    );
    return all.filter(({ id }, at) => all.findIndex((one) => one.id === id) === at);
  }

  async #look(): Promise<void> {
    const { records, failed } = this.#parts;
    const models = await records.list();
    for (const holder of this.#holders()) {
      const copies = new Map((await records.copiesAt(holder.id)).map((copy) => [copy.doc.model, copy]));
      for (const model of models) {
        await this.#tendTo(model, holder, copies.get(model.id)).catch(named(failed, KEEP));
        copies.delete(model.id);
      }
      for (const copy of copies.values()) await this.#clear(copy, holder).catch(named(failed, KEEP));
    }
  }

  async #tendTo(model: ModelItem, holder: Holder, copy: CopyItem | undefined): Promise<void> {
    const id = copyId(model.id, holder.id);
    if (this.#filling.has(id) || model.doc.state === "FAILED" || (copy && !(await this.#isDue(copy, holder)))) return;
    const from = await this.#from(model, holder);
    if (!from) return;
    const filling = this.#fill(model, holder, from)
      .catch(named(this.#parts.failed, KEEP))
      .finally(() => this.#filling.delete(id));
    this.#filling.set(id, filling);
  }

  async #isDue({ doc }: CopyItem, { volumes, id }: Holder): Promise<boolean> {
    const { clock, node } = this.#parts;
    if (doc.state === "FAILED") return clock.now() - (doc.failedAt ?? 0) >= AGAIN_MS;
    // An earlier process of this node, or a node that had the machine before, did not end it. On shared storage another node may be at it.
    if (doc.state === "FILLING") return doc.process !== this.#process && (doc.node === node || id !== SHARED_STORAGE);
    return (await volumes.find(volumeOf(doc.model))) === undefined;
  }

  /** Undefined if this node reaches the files nowhere yet. */
  async #from(model: ModelItem, holder: Holder): Promise<From | undefined> {
    const { records, elsewhere } = this.#parts;
    const ready = (await records.copiesOf(model.id)).filter(
      ({ doc }) => doc.state === "READY" && doc.holder !== holder.id,
    );
    const own = this.#holders();
    for (const { doc } of ready) {
      const files = await own.find(({ id }) => id === doc.holder)?.volumes.files(volumeOf(model.id));
      if (files) return { source: sourceIn(files, [], model.doc), isOrigin: false };
    }
    for (const { doc } of ready) {
      const source = await elsewhere?.(model, doc.holder);
      if (source) return { source, isOrigin: false };
    }
    if (!this.#isOrigin(model)) return undefined;
    return { source: lazily(() => this.#origin(model)), isOrigin: true };
  }

  /** Whether this node reaches the operator's files: it was asked, or the volume is on its machine. */
  #isOrigin({ doc: { source } }: ModelItem): boolean {
    const machine = "volume" in source ? source.machine : null;
    return machine === null ? source.node === this.#parts.node : this.#parts.machines.some(({ id }) => id === machine);
  }

  async #origin({ doc: { source, name, asked } }: ModelItem): Promise<ModelSource> {
    const wanted = { name, revision: asked };
    if ("folder" in source) {
      const { openFolder } = this.#parts;
      if (!openFolder) throw new ModelRefused("this server reads no folders of its machine");
      return sourceIn(await openFolder(source.folder), [], wanted);
    }
    const { volume, path, machine } = source;
    const isIt = ({ id, compute }: ModelCareParts["machines"][number]) =>
      machine === null ? compute.volumes?.shared : id === machine;
    const files = await this.#parts.machines.find(isIt)?.compute.volumes?.files(volume);
    if (!files) throw new ModelRefused(`network volume ${volume} is not on a machine of the server that was asked`);
    return sourceIn(files, path === "" ? [] : path.split("/"), wanted);
  }

  async #fill(model: ModelItem, { id: holder, volumes }: Holder, { source, isOrigin }: From): Promise<void> {
    const { records, clock, log, node, changed } = this.#parts;
    const id = copyId(model.id, holder);
    const volume = volumeOf(model.id);
    const doc: KeptCopy = {
      ...{ model: model.id, holder, node, process: this.#process, reason: null, bytes: 0 },
      state: copyLifecycle.begin("FILLING"),
    };
    await records.copies.put({ id, account: EVERYONE, createdAt: clock.now(), doc });
    try {
      if (volumes.noFiles) throw new ModelRefused(volumes.noFiles);
      const snapshot = await source.snapshot();
      await this.#note(model.id, snapshot);
      // What an earlier try left is not trusted.
      await volumes.remove(volume);
      const isShared = holder === SHARED_STORAGE;
      await volumes.create({ id: volume, sizeGb: volumeGb(snapshot), ...(isShared && { shared: true }) });
      const target = (await volumes.files(volume))!;
      if (!(await fill(source, snapshot, target, this.#filler(id, model.id)))) return;
      await records.copies.change(id, () => ({ set: { state: copyLifecycle.to("finish"), bytes: snapshot.bytes } }));
      await records.models.change(model.id, ({ doc }) =>
        doc.state === "FILLING" ? { set: { state: modelLifecycle.to("finish"), reason: null } } : undefined,
      );
      log.info({ model: model.doc.name, holder }, "a model was copied");
    } catch (error) {
      await this.#failed(model, { holder, volumes, isOrigin }, error);
    }
    changed();
    this.tend();
  }

  /** Notes what was found, until the first copy is made: all others have the same. */
  async #note(model: string, { revision, bytes, files }: Snapshot): Promise<void> {
    await this.#parts.records.models.change(model, ({ doc }) =>
      doc.state === "FILLING" ? { set: { found: { revision, bytes, files: files.length } } } : undefined,
    );
  }

  #filler(copy: string, model: string) {
    const { records, clock } = this.#parts;
    let told = clock.monotonic();
    let isGone = false;
    return {
      isOver: () => this.#isOver || isGone,
      progress: async (bytes: number) => {
        if (clock.monotonic() - told < PROGRESS_MS) return;
        told = clock.monotonic();
        isGone = (await records.models.get(model)) === undefined;
        if (!isGone) await records.copies.change(copy, () => ({ set: { bytes } }));
      },
    };
  }

  async #failed(
    model: ModelItem,
    { holder, volumes, isOrigin }: { holder: string; volumes: Volumes; isOrigin: boolean },
    error: unknown,
  ): Promise<void> {
    const { records, clock, log } = this.#parts;
    const text = textOf(error as Error);
    log.warn({ model: model.doc.name, holder }, `a model could not be copied: ${text}`);
    await volumes.remove(volumeOf(model.id)).catch(() => undefined);
    const reason = because("model-failed", { model: model.doc.name, why: text });
    await records.copies.change(copyId(model.id, holder), () => ({
      set: { state: copyLifecycle.to("fail"), reason, bytes: 0, failedAt: clock.now() },
    }));
    if (!isOrigin) return;
    await records.models.change(model.id, ({ doc }) =>
      doc.state === "FILLING" ? { set: { state: modelLifecycle.to("fail"), reason } } : undefined,
    );
  }

  async #clear({ id, doc }: CopyItem, { volumes }: Holder): Promise<void> {
    const { records, mountedBy } = this.#parts;
    const volume = volumeOf(doc.model);
    if (this.#filling.has(id) || (await mountedBy(volume)).length > 0) return;
    try {
      await volumes.remove(volume);
    } catch (error) {
      // An instance that is still ending has it mounted. The next look tries again.
      if (error instanceof VolumeRefused) return;
      throw error;
    }
    await records.copies.removeIfThere(id);
  }
}

/** Opens the source when it is first read, so that what it throws is the reason of the copy. */
function lazily(open: () => Promise<ModelSource>): ModelSource {
  let opened: Promise<ModelSource> | undefined;
  const once = () => (opened ??= open());
  return {
    snapshot: async () => (await once()).snapshot(),
    async *read(file) {
      yield* (await once()).read(file);
    },
  };
}

/** Errors of the system name paths of the server, which the operator may see. */
function textOf(error: Error): string {
  const { message } = error;
  return error instanceof FileRefused ? message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, "") : message;
}
