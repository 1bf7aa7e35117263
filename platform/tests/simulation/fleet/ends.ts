/** What must be true when a fleet has come to rest: everything ended or runs as its record says, and every reader of events knows it. */

import type { StoredRecord } from "../../../src/ports/store/store.ts";
import { streamed } from "../../../src/resources/events/kinds.ts";
import type { FleetWorld } from "./world.ts";

/** In these states something is about to happen by itself. */
const PASSING: Record<string, readonly string[]> = {
  pod: ["PLACED", "CRASHED", "RESTARTING", "ENDING"],
  worker: ["PLACED", "STARTING", "DRAINING"],
};

/** What has not come to rest, and the record that it is about. */
export interface Unsettled {
  text: string;
  about?: string;
}

const idOf = (key: string) => key.slice(key.indexOf("/") + 1);

export class Ends {
  readonly #world: FleetWorld;

  constructor(world: FleetWorld) {
    this.#world = world;
  }

  /** Returns what has not come to rest yet. */
  unsettled(): Unsettled | undefined {
    return this.#passing() ?? this.#unowned() ?? this.#jobs() ?? this.#lost() ?? this.#unread();
  }

  #passing(): Unsettled | undefined {
    const { rules } = this.#world;
    for (const { id, doc } of rules.instances.values()) {
      const { kind, state } = doc as { kind: string; state: string };
      if (PASSING[kind]?.includes(state)) return { text: `${kind} ${id} is ${state}`, about: String(doc.owner) };
    }
    for (const { id, doc } of rules.pods.values())
      if (doc.status === "STARTING") return { text: `Pod ${id} is STARTING`, about: id };
    return undefined;
  }

  /** Programs and records must match. */
  #unowned(): Unsettled | undefined {
    const { rules, machines } = this.#world;
    const running = [...machines.values()].flatMap((machine) => machine.running);
    for (const { id, machine, spec } of running) {
      const record = rules.instances.get(id);
      if (record?.doc.machine !== machine)
        return { text: `${id} runs on ${machine} without a record`, about: spec.owner };
    }
    const ids = new Set(running.map(({ id }) => id));
    for (const { id, doc } of rules.instances.values())
      if (doc.startedAt !== null && doc.state !== "FAILED" && !ids.has(id))
        return { text: `${id} is ${doc.state} and does not run`, about: String(doc.owner) };
    return undefined;
  }

  #jobs(): Unsettled | undefined {
    const { jobRules, people } = this.#world;
    const [job] = jobRules.unfinished.filter(({ endpoint }) => this.#hasWorkers(endpoint));
    if (job) return { text: `it is ${job.state}`, about: job.id };
    for (const { id, endpoint } of people.flatMap(({ jobs }) => jobs))
      if (
        !jobRules.jobs.has(id) &&
        people.some((one) => one.endpoints.some((owned) => owned.id === endpoint && !owned.isUnsure))
      )
        return { text: "it was acknowledged and is gone", about: id };
    return undefined;
  }

  /** Jobs of an endpoint that may have no workers wait for ever. */
  #hasWorkers(endpoint: string): boolean {
    const record = this.#world.rules.endpoints.get(endpoint);
    return record !== undefined && (record.doc.workers as { max: number }).max > 0 && this.#hasRoom();
  }

  /** Pods may take all room for ever. */
  #hasRoom(): boolean {
    const { rules } = this.#world;
    return ![...rules.instances.values()].some(({ doc }) => doc.kind === "worker" && doc.state === "WANTED");
  }

  /** What was acknowledged and not deleted is there. */
  #lost(): Unsettled | undefined {
    const { people, rules } = this.#world;
    for (const { pods, clusters, volumes } of people)
      for (const [list, records] of [
        [pods, rules.pods],
        [clusters, rules.clusters],
        [volumes, rules.volumes],
      ] as const)
        for (const { id, isUnsure } of list)
          if (!isUnsure && !records.has(id)) return { text: "it was acknowledged and is gone", about: id };
    return undefined;
  }

  #unread(): Unsettled | undefined {
    const { watchers, rules } = this.#world;
    for (const { picture } of watchers) {
      const there = new Map<string, number>();
      for (const { kind, resource, show } of streamed)
        for (const record of rules.streamed(kind))
          if (show(record as StoredRecord)) there.set(`${resource}/${record.id}`, record.version);
      for (const [key, version] of there)
        if (picture.get(key) !== version)
          return {
            text: `a reader of events has ${key} as ${picture.get(key)}, and it is ${version}`,
            about: idOf(key),
          };
      for (const key of picture.keys())
        if (!there.has(key)) return { text: `a reader of events still has ${key}, which is gone`, about: idOf(key) };
    }
    return undefined;
  }
}
