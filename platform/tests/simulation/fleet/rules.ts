/** The rules that hold at every moment: lifecycles, reasons, capacity, maxima, all of a cluster or nothing, and who may act on a machine. */
import type { Lifecycle } from "../../../src/kernel/lifecycle.ts";
import { type InstanceItem, isLiving, placeOf } from "../../../src/machines/instances.ts";
import type { Lease, StoredRecord, Write } from "../../../src/ports/store/store.ts";
import { podInstanceLifecycle, podLifecycle } from "../../../src/resources/pods/lifecycle.ts";
import { workerLifecycle } from "../../../src/resources/workers/model.ts";
import type { Run, SimulatedMachine } from "./machine.ts";
import type { SimulatedNode } from "./node.ts";
import type { Watching } from "./store.ts";
import type { FleetWorld } from "./world.ts";

type Doc = Record<string, unknown>;
type Table = Lifecycle<string, string>;

/** A node that lost its machine notices after the next renewal at the latest. What it is at then may take this long, as it runs. */
const LETS_GO_MS = 20_000;
/** In these states somebody waits or is told that something failed, so there must be a reason. */
const EXPLAINED: Record<string, readonly string[]> = {
  pod: ["PROVISIONING", "STARTING", "EXITED", "ERROR"],
  worker: ["WANTED", "FAILED"],
};

export class Rules implements Watching {
  readonly #world: FleetWorld;
  /** Records of the kinds that have rules, by kind and id, as they are in the store. */
  readonly pods = new Map<string, StoredRecord>();
  readonly instances = new Map<string, StoredRecord>();
  readonly clusters = new Map<string, StoredRecord>();
  readonly volumes = new Map<string, StoredRecord>();
  readonly endpoints = new Map<string, StoredRecord>();
  readonly spans = new Map<string, StoredRecord>();
  /** Every Pod, cluster, volume and endpoint that was ever there. */
  readonly seen = new Set<string>();
  /** The largest maximum of workers that each endpoint has had. A planner may know an earlier one. */
  readonly #mostWorkers = new Map<string, number>();
  /** Who holds each machine by the store, and who held it before and since when not. */
  readonly #holders = new Map<string, { holder: string; lostAt: Map<string, number> }>();
  readonly #kinds: Record<string, Map<string, StoredRecord>>;

  constructor(world: FleetWorld) {
    this.#world = world;
    const { pods, instances, clusters, volumes, endpoints, spans } = this;
    this.#kinds = {
      pod: pods,
      instance: instances,
      cluster: clusters,
      "network-volume": volumes,
      endpoint: endpoints,
      span: spans,
    };
  }

  committed(writes: readonly Write[], written: readonly StoredRecord[]): void {
    let placed = false;
    let members = false;
    for (const [i, write] of writes.entries()) {
      const record = written[i]!;
      const known = this.#kinds[record.kind];
      if (!known) continue;
      this.seen.add(record.id);
      const before = known.get(record.id);
      if (write.do === "remove") known.delete(record.id);
      else known.set(record.id, record);
      this.#move(record, before, write.do);
      if (record.kind === "endpoint") this.#noteMaximum(record);
      if (record.kind === "instance") this.#checkWorkers(record, before, write.do);
      placed ||= record.kind === "instance";
      members ||= record.kind === "cluster" || record.kind === "pod";
    }
    if (placed) this.#checkRoom();
    if (members) this.#checkClusters();
  }

  leased({ name, holder }: Lease): void {
    if (!name.startsWith("machine ")) return;
    const held = this.#holders.get(name) ?? { holder, lostAt: new Map() };
    this.#holders.set(name, held);
    if (held.holder !== holder) held.lostAt.set(held.holder, this.#world.timeline.elapsed);
    held.holder = holder;
    held.lostAt.delete(holder);
  }

  released(name: string, holder: string): void {
    const held = this.#holders.get(name);
    if (held?.holder === holder) held.lostAt.set(holder, this.#world.timeline.elapsed);
  }

  /** The records of a kind that event streams show. */
  streamed(kind: string): Iterable<StoredRecord> {
    return this.#kinds[kind]?.values() ?? [];
  }

  /** A node changes something on a machine. */
  acted(node: SimulatedNode, machine: SimulatedMachine, verb: string): void {
    const held = this.#holders.get(`machine ${machine.id}`);
    if (held?.holder === node.name) return;
    const lostAt = held?.lostAt.get(node.name);
    const { timeline, trace } = this.#world;
    const awakeMs =
      lostAt === undefined ? Number.POSITIVE_INFINITY : timeline.elapsed - Math.max(lostAt, node.awakeSince);
    if (awakeMs > LETS_GO_MS)
      trace.broken(`${node.name} did ${verb} on ${machine.id}, which ${held?.holder ?? "nobody"} holds`);
  }

  /** A program began on a machine. */
  began({ id, machine, spec }: Run): void {
    const { trace, machines } = this.#world;
    const running = [...machines.values()].flatMap((one) => one.running);
    const twin = running.find((run) => run.spec.owner === spec.owner && run.id !== id && spec.kind === "pod");
    if (twin) trace.broken(`has two programs: ${twin.id} on ${twin.machine} and ${id} on ${machine}`, spec.owner);
    const here = running.filter((run) => run.machine === machine);
    const gpus = here.reduce((sum, run) => sum + (run.spec.gpu?.count ?? 0), 0);
    const most = machines.get(machine)!.gpus;
    if (gpus > most) trace.broken(`${machine} runs programs with ${gpus} GPUs and has ${most}`, spec.owner);
  }

  #move(record: StoredRecord, before: StoredRecord | undefined, how: Write["do"]): void {
    const { kind, id } = record;
    if (kind !== "pod" && kind !== "instance") return;
    const isWorker = record.doc.kind === "worker";
    const of = kind === "pod" ? "pod" : isWorker ? "worker" : "instance";
    const table = (kind === "pod"
      ? podLifecycle
      : isWorker
        ? workerLifecycle
        : podInstanceLifecycle) as unknown as Table;
    const stateOf = (doc: Doc) => String(kind === "pod" ? doc.status : doc.state);
    const about = kind === "pod" ? id : String(record.doc.owner);
    const { trace } = this.#world;
    const from = before && stateOf(before.doc);
    const to = how === "remove" ? last(table) : stateOf(record.doc);
    const reason = (record.doc.reason as { code?: string } | null)?.code;
    if (from !== to) trace.note(`${of} ${id}: ${from ?? "nothing"} -> ${to}${reason ? ` (${reason})` : ""}`, about);
    if (how === "insert") {
      if (!table.begins.includes(to)) trace.broken(`${of} ${id} began as ${to}`, about);
    } else if (from !== to && !isMove(table, from!, to)) trace.broken(`${of} ${id} went from ${from} to ${to}`, about);
    if (how !== "remove" && EXPLAINED[of]?.includes(to) && reason === undefined)
      trace.broken(`${of} ${id} is ${to} without a reason`, about);
  }

  #checkRoom(): void {
    const used = new Map<string, { vcpu: number; memoryMb: number; gpus: number }>();
    for (const record of this.instances.values())
      for (const { machine, vcpu, memoryMb, gpuCount } of placeOf(record as unknown as InstanceItem)) {
        const sum = used.get(machine) ?? { vcpu: 0, memoryMb: 0, gpus: 0 };
        // The CPU of a worker that was frozen is not reserved, also after its thaw.
        const reserved = record.doc.frozenAt === undefined ? vcpu : 0;
        used.set(machine, {
          vcpu: sum.vcpu + reserved,
          memoryMb: sum.memoryMb + memoryMb,
          gpus: sum.gpus + gpuCount,
        });
      }
    for (const [id, { vcpu, memoryMb, gpus }] of used) {
      const has = this.#world.machines.get(id)!;
      if (vcpu > has.vcpu || memoryMb > has.memoryMb || gpus > has.gpus)
        this.#world.trace.broken(
          `${id} was given away beyond what it has: ${JSON.stringify({ vcpu, memoryMb, gpus })}`,
        );
    }
  }

  #noteMaximum({ id, doc }: StoredRecord): void {
    const { max } = doc.workers as { max: number };
    this.#mostWorkers.set(id, Math.max(max, this.#mostWorkers.get(id) ?? 0));
  }

  /** A worker begins or thaws only if its endpoint may have one more. */
  #checkWorkers({ id, doc }: StoredRecord, before: StoredRecord | undefined, how: Write["do"]): void {
    if (how === "remove" || !mayWork(doc) || (before && mayWork(before.doc))) return;
    const working = [...this.instances.values()].filter((one) => one.doc.owner === doc.owner && mayWork(one.doc));
    const most = this.#mostWorkers.get(String(doc.owner)) ?? 0;
    if (working.length > most)
      this.#world.trace.broken(`worker ${id} is one of ${working.length}, and there may be ${most}`, String(doc.owner));
  }

  /** Members come into being together with their cluster. Afterwards only the removal of the cluster removes them. */
  #checkClusters(): void {
    if (this.clusters.size === 0) return;
    const counts = new Map<string, number>();
    for (const { doc } of this.pods.values()) {
      const id = (doc.cluster as { id?: string } | undefined)?.id;
      if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const { id, doc } of this.clusters.values()) {
      const { podCount } = doc.compute as { podCount: number };
      if (counts.get(id) !== podCount)
        this.#world.trace.broken(`cluster ${id} has ${counts.get(id) ?? 0} members of ${podCount}`, id);
    }
  }
}

/** A frozen worker that is drained ends without running any more. */
const mayWork = ({ kind, state, frozenAt }: Doc) =>
  kind === "worker" && isLiving({ state: String(state) }) && !(state === "DRAINING" && frozenAt !== undefined);

const last = (table: Table) => table.states.at(-1)!;

const isMove = ({ moves }: Table, from: string, to: string) =>
  Object.values(moves).some((move) => move.to === to && move.from.includes(from));
