/** Assigns this machine's addresses, ports, devices and output space to instances that run or are about to start. */
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import type { Instance, InstanceSpec } from "../../ports/compute/compute.ts";
import type { Network, NetworkAsk, NetworkName, Networks } from "../../ports/compute/groups.ts";
import { asBefore, type Published } from "../../ports/compute/publish.ts";
import type { GroupMember, GroupPlace } from "./group-bridges.ts";
import { GROUP_INTERFACE, type HostGroups } from "./host-groups.ts";
import type { HostInstance } from "./host-instance.ts";
import { networkedOf } from "./host-parts.ts";
import type { KeptInstance } from "./instance-folder.ts";
import type { InstanceNetwork, Networked } from "./network.ts";
import { type OutputLimits, segmentBeside } from "./output-file.ts";

/** An instance that is being started, with the place that it got. */
export interface Starting {
  spec: InstanceSpec;
  place?: number;
  group?: GroupPlace;
  published?: readonly Published[];
  done: Promise<Instance>;
}

export interface HostPlacesParts {
  instances: ReadonlyMap<string, HostInstance>;
  starting: ReadonlyMap<string, Starting>;
  network: InstanceNetwork;
  groups: HostGroups;
  output: OutputLimits;
}

export class HostPlaces {
  readonly #parts: HostPlacesParts;
  readonly #choosing = new OneAtATime();

  constructor(parts: HostPlacesParts) {
    this.#parts = parts;
  }

  /** Instances that mount a volume and have not ended. */
  usersOf(volume: string): string[] {
    const { instances, starting } = this.#parts;
    const there = [...instances].filter(([, { isEnded, kept }]) => !isEnded && kept.volumes?.includes(volume));
    const coming = [...starting].filter(([, { spec }]) => spec.mounts?.some((mount) => mount.volume === volume));
    return [...new Set([...there, ...coming].map(([id]) => id))];
  }

  segmentOfNext(): number {
    const { instances, starting, output } = this.#parts;
    const segments = [...instances.values()].map(({ kept: { segment = 0 } }) => segment);
    return segmentBeside(output, segments, starting.size - 1);
  }

  /**
   * Places are chosen one after another, so that no two instances get the same port or address. A restarted instance keeps those that it
   * had.
   */
  choose(
    id: string,
    spec: InstanceSpec,
    before?: KeptInstance,
  ): Promise<Pick<Starting, "place" | "group" | "published">> {
    const { network, groups, starting } = this.#parts;
    return this.#choosing.run(async () => {
      // The remains of its old link are removed first, since the new one has the same name.
      if (before) await network.leave(before.address);
      const place = before?.address ?? (await network.choose(spec.ports, this.#others(id)));
      const group = before?.group ?? (await groups.choose(spec));
      const taken = [...starting.values()].flatMap(({ published = [] }) => published.map((one) => one.outside));
      const published = await network.published?.choose(asBefore(spec.publish, before?.published), taken);
      const chosen = {
        ...(place !== undefined && { place }),
        ...(group && { group }),
        ...(published && { published }),
      };
      Object.assign(starting.get(id) ?? {}, chosen);
      return chosen;
    });
  }

  get networks(): Networks {
    const { groups } = this.#parts;
    return {
      interfaceOf: () => GROUP_INTERFACE,
      get spanning() {
        return groups.spanning;
      },
      reserve: (ask) => this.#reserve(ask),
      list: async () => groups.reserved(),
      release: (network) => this.#release(network),
    };
  }

  /** Runs alone, so that no other group gets this network's range. */
  #reserve(ask: NetworkAsk): Promise<Network> {
    return this.#choosing.run(() => this.#parts.groups.reserve(ask));
  }

  /** Runs alone, so that no member gets a place in the network meanwhile. */
  #release(network: NetworkName): Promise<void> {
    return this.#choosing.run(() => this.#parts.groups.release(network));
  }

  *groupMembers(): Generator<GroupMember> {
    const { instances, starting } = this.#parts;
    for (const { kept } of instances.values()) if (kept.group) yield { ...kept.group, index: kept.address! };
    for (const { group, place } of starting.values()) if (group) yield { ...group, index: place! };
  }

  heldDevices(): string[] {
    const running = [...this.#parts.instances.values()].filter(({ isEnded }) => !isEnded);
    return running.flatMap(({ kept }) => kept.gpus);
  }

  /** All instances that have or will have a place. An ended instance keeps only its address until it is removed. */
  #others(id: string): Networked[] {
    const { instances, starting } = this.#parts;
    const there = [...instances.values()].map((instance) => ({
      ...networkedOf(instance),
      ...(instance.isEnded && { ports: [] }),
    }));
    const coming = [...starting].filter(([other]) => other !== id);
    const places = coming.map(([, { spec, place }]) => ({
      index: place,
      ports: spec.ports,
      processes: async () => [],
    }));
    return [...there, ...places];
  }
}
