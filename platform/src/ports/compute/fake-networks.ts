/** Networks of the fake driver, with invented addresses: from a range for each network or, as in clusters, from each box. */
import { type InstanceSpec, ONLY_BOX } from "./compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import {
  checkAsk,
  checkFellows,
  checkMembership,
  checkReserved,
  groupKey,
  hasMembers,
  hostIn,
  type Network,
  type NetworkAsk,
  type NetworkName,
  type Networks,
  namesOf,
  noRangeFree,
  type ReservedNetwork,
  toldOf,
} from "./groups.ts";
import { addressesIn, rangesFor } from "./network-ranges.ts";
import type { Span, Spanning } from "./spans.ts";

/** The networks on the machine, which the next process finds too. */
export class FakeNetworkBook {
  /** The reserved networks, by the key of their group. */
  readonly reserved = new Map<string, ReservedNetwork & { span?: Span }>();
  /** Address ranges that something else uses. */
  readonly strangers = new Set<string>();
  readonly #boxes = new Map<string, number>();

  /** Returns a number for the box that stays the same, wherever the box stands in the list. */
  numberOf(box: string): number {
    const number = this.#boxes.get(box) ?? this.#boxes.size;
    this.#boxes.set(box, number);
    return number;
  }
}

/** What connects fake machines, so that networks can span them. */
export class FakeWire {
  readonly machines = new Set<FakeNetworks>();
}

export interface FakeNetworksParts {
  book: FakeNetworkBook;
  /** Absent if networks do not reach from this machine to others. */
  spanning?: Spanning | undefined;
  wire?: FakeWire | undefined;
  /** True when addresses become known only when a member runs. Until then members have names. */
  byName: boolean;
  /** All instances that are in a group, ended or not. */
  members: () => readonly FakeInstance[];
  mayFail: () => void;
}

export class FakeNetworks implements Networks {
  readonly #parts: FakeNetworksParts;

  constructor(parts: FakeNetworksParts) {
    this.#parts = parts;
    parts.wire?.machines.add(this);
  }

  get spanning(): Spanning | undefined {
    return this.#parts.spanning;
  }

  /** From now on other machines reach this one at another address. */
  moveTo(address: string): void {
    const { end, ...spanning } = this.#parts.spanning!;
    this.#parts.spanning = { ...spanning, end: { ...end!, address } };
  }

  get strangers(): Set<string> {
    return this.#parts.book.strangers;
  }

  get #reserved(): FakeNetworkBook["reserved"] {
    return this.#parts.book.reserved;
  }

  interfaceOf(): string {
    return "ens1";
  }

  async reserve(ask: NetworkAsk): Promise<Network> {
    this.#parts.mayFail();
    checkAsk(ask);
    const key = groupKey(ask.account, ask);
    const { span } = ask;
    const known = this.#reserved.get(key);
    if (known && span) this.#reserved.set(key, { ...known, span });
    if (known) return toldOf(known, ask.names);
    if (this.#membersOf(key).length > 0) throw hasMembers(ask.id);
    const { account, id, names } = ask;
    const made = { account, id, names, ...(this.#parts.byName ? named(key, names) : this.#ranged(key, ask)) };
    this.#reserved.set(key, { ...made, ...(span && { span }) });
    return toldOf(made, names);
  }

  async list(): Promise<NetworkName[]> {
    return [...this.#reserved.values()].map(({ account, id }) => ({ account, id }));
  }

  async release({ account, id }: NetworkName): Promise<void> {
    const key = groupKey(account, { id });
    if (this.#membersOf(key).length === 0) this.#reserved.delete(key);
  }

  /** Forgets all reservations, as if the driver's data were lost. */
  forget(): void {
    this.#reserved.clear();
  }

  /** Chooses the address of a new member. */
  choose(spec: InstanceSpec, before?: FakeInstance): string {
    const group = spec.group!;
    checkMembership(group);
    const key = keyOf(spec)!;
    const network = this.#reserved.get(key);
    checkReserved(group, network);
    const fellows = this.#membersOf(key).filter((one) => one !== before);
    checkFellows(
      group,
      fellows.map((one) => one.spec.group!),
    );
    const host = network && hostIn(network, group.name);
    if (this.#parts.byName) return this.#inBox(spec);
    return host ?? before?.address ?? this.#besides(fellows);
  }

  /** Returns the member that an address or a name means to this instance. */
  reachedBy(from: FakeInstance, host: string): FakeInstance | undefined {
    if (!from.spec.group) return undefined;
    const key = keyOf(from.spec)!;
    const sides = [this, ...this.#othersOf(key)];
    for (const side of sides) {
      const found = side.#membersOf(key).find((one) => one.address === host || side.#namesOf(one).includes(host));
      if (found) return found;
    }
    return undefined;
  }

  /** What the machine was told about the network's other machines. */
  spanOf(name: NetworkName): Span | undefined {
    return this.#reserved.get(groupKey(name.account, name))?.span;
  }

  /** The other machines that packets of a network get to and come back from. */
  #othersOf(key: string): FakeNetworks[] {
    const own = this.#reserved.get(key);
    return [...(this.#parts.wire?.machines ?? [])].filter((side) => {
      const there = side === this ? undefined : side.#reserved.get(key);
      if (!own?.span || !there?.span || own.range !== there.range || own.span.number !== there.span.number)
        return false;
      const knows = (span: Span, { spanning }: FakeNetworks) =>
        span.others.some(({ address }) => address === spanning?.end?.address);
      return knows(own.span, side) && knows(there.span, this);
    });
  }

  #namesOf({ spec }: FakeInstance): string[] {
    const network = this.#reserved.get(keyOf(spec)!);
    return [...namesOf(spec.group!), ...(network ? [hostIn(network, spec.group!.name)] : [])];
  }

  #membersOf(key: string): FakeInstance[] {
    return this.#parts.members().filter(({ spec }) => keyOf(spec) === key);
  }

  #ranged(key: string, ask: NetworkAsk): Network {
    const taken = new Set([...this.#reserved.values()].map(({ range }) => range));
    for (const range of rangesFor(key, ask))
      if (!taken.has(range) && !this.strangers.has(range))
        return { range, hosts: addressesIn(range, ask.names.length) };
    throw noRangeFree();
  }

  /** Returns a free address. Each group without a reserved network has a range of its own. */
  #besides(fellows: readonly FakeInstance[]): string {
    const lastOf = (address: string) => Number(address.split(".")[3]);
    const ranges = new Set(this.#parts.members().map(({ address }) => Number(address!.split(".")[2])));
    const range = fellows[0]?.address?.split(".")[2] ?? [...Array(256).keys()].find((n) => !ranges.has(n));
    return `10.0.${range}.${1 + Math.max(0, ...fellows.map(({ address }) => lastOf(address!)))}`;
  }

  /** Each box has its own addresses, and every new start gets another one. */
  #inBox({ box }: InstanceSpec): string {
    const number = this.#parts.book.numberOf(box ?? ONLY_BOX);
    const taken = new Set(this.#parts.members().map(({ address }) => address));
    for (let n = 1; ; n++) {
      const address = `10.${200 + number}.${Math.floor(n / 250)}.${n % 250}`;
      if (!taken.has(address)) return address;
    }
  }
}

const keyOf = ({ account, group }: InstanceSpec) => group && groupKey(account, group);

const named = (key: string, names: readonly string[]): Network => ({
  hosts: names.map((name) => `${name}.${key.slice(0, 8)}.cluster.internal`),
});
