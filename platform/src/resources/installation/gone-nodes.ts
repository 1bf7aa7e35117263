/** Removes nodes that are gone for good, with their machines, unless something may still come back with them. */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { problem } from "../../kernel/problem.ts";
import type { Drains } from "../../machines/drains.ts";
import { leaseOf } from "../../machines/holds.ts";
import type { Known, KnownMachine, KnownNode } from "../../machines/known.ts";
import { machines, nodes } from "../../machines/nodes.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { Accounts } from "../account/accounts.ts";
import type { AuditLog } from "../audit/service.ts";
import { Holdings, type HoldingsParts } from "./holdings.ts";

export interface GoneNodesParts extends HoldingsParts {
  /** The store that adds an entry of the audit log to what is removed. */
  store: Store;
  clock: Clock;
  log: Log;
  known: () => Promise<Known>;
  drains: Pick<Drains, "end">;
  accounts: Pick<Accounts, "firstOwner">;
  audit: Pick<AuditLog, "record">;
  /** The id of this node. */
  node: string;
  /** A node that nobody has heard of for this long is removed. */
  hours?: number | undefined;
}

const NODE_HOURS = 24;
const HOUR_MS = 3_600_000;

export class GoneNodes {
  readonly #parts: GoneNodesParts;
  readonly #holdings: Holdings;

  constructor(parts: GoneNodesParts) {
    this.#parts = parts;
    this.#holdings = new Holdings(parts);
  }

  /** Why a silent node stays in the list. Undefined if it is heard of, or goes by itself when its time is over. */
  async staysFor(node: KnownNode, { machines }: Known): Promise<string | undefined> {
    if (!node.silence) return undefined;
    const { held, left } = await this.#holdings.of(ownedBy(node, machines));
    return [...held, ...left].join(", ") || undefined;
  }

  /** Removes a node for an operator who knows that it never comes back. What was only to be cleaned up there is forgotten. */
  async remove(id: string): Promise<void> {
    const known = await this.#parts.known();
    const node = known.nodes.find((one) => one.id === id);
    if (!node) throw problem("not-found", "node not found");
    if (!node.silence?.isGone)
      throw problem("wrong-state", "This node is alive: it reported less than a minute ago. Stop its server first.");
    const owned = ownedBy(node, known.machines);
    const { held } = await this.#holdings.of(owned);
    if (held.length > 0)
      throw problem("rule-broken", `The machine of this node still has ${held.join(", ")}: delete these first.`);
    if (!(await this.#removeIfUnheard(node, owned))) throw problem("wrong-state", "This node has just reported again.");
  }

  /** Removes the nodes whose time is over, and machines that no node runs any more. */
  async sweep(now: number): Promise<void> {
    const { hours = NODE_HOURS, node: self } = this.#parts;
    const before = now - hours * HOUR_MS;
    const known = await this.#parts.known();
    for (const node of known.nodes) {
      const isOver = node.id !== self && node.silence?.isGone === true && node.seenAt < before;
      const owned = ownedBy(node, known.machines);
      if (isOver && !(await this.#isHeld(owned))) await this.#removeByItself(node, owned, hours);
    }
    for (const machine of known.machines) {
      const isLone = !known.nodes.some((node) => isRunBy(node, machine)) && machine.createdAt < before;
      if (isLone && !(await this.#isHeld([machine]))) await this.#removeLone(machine);
    }
    await this.#holdings.forgetUnknown(new Set((await this.#parts.known()).machines.map(({ id }) => id)));
  }

  async #isHeld(owned: readonly KnownMachine[]): Promise<boolean> {
    const { held, left } = await this.#holdings.of(owned);
    return held.length + left.length > 0;
  }

  async #removeByItself(node: KnownNode, owned: readonly KnownMachine[], hours: number): Promise<void> {
    const { accounts, audit, log } = this.#parts;
    const { account } = await accounts.firstOwner();
    const deed = {
      ...{ account, actor: { type: "system" } as const, operation: "deleteInstallationNode" },
      resource: { type: "nodes", id: node.id },
      reason: `nobody has heard of it for ${hours} hours, and its machine has nothing`,
    };
    const isRemoved = await audit.record(deed, () => this.#removeIfUnheard(node, owned), { onlyChanges: true });
    if (isRemoved) log.info({ node: node.id }, `a node was removed: ${deed.reason}`);
  }

  /** Returns false if the node reported meanwhile, or another node removed it. Nothing is removed then. */
  async #removeIfUnheard(node: KnownNode, owned: readonly KnownMachine[]): Promise<boolean> {
    const { store } = this.#parts;
    const [allNodes, allMachines] = [new Collection(store, nodes), new Collection(store, machines)];
    const record = await allNodes.get(node.id);
    if (!record || record.doc.seenAt !== node.seenAt) return false;
    const writes: Write[] = [allNodes.removing(node.id, record.version)];
    for (const { id } of owned) {
      const machine = await allMachines.get(id);
      // Another node may have taken it over by now, such as a cluster of Kubernetes.
      if (machine?.doc.node === node.id) writes.push(allMachines.removing(id, machine.version));
    }
    if (!(await this.#commit(writes))) return false;
    for (const { id } of owned) await this.#forget(id, node.seenAt);
    return true;
  }

  async #removeLone({ id, node, createdAt }: KnownMachine): Promise<void> {
    const all = new Collection(this.#parts.store, machines);
    const record = await all.get(id);
    if (record?.doc.node !== node || !(await this.#commit([all.removing(id, record.version)]))) return;
    this.#parts.log.info({ machine: id }, "a machine was removed: no node runs it, and it has nothing");
    await this.#forget(id, createdAt);
  }

  async #forget(machine: string, lastSeenAt: number): Promise<void> {
    const { drains, store, clock } = this.#parts;
    await drains.end(machine);
    await store.removeLease(leaseOf(machine), clock.now());
    await this.#holdings.forget(machine, lastSeenAt);
  }

  async #commit(writes: Write[]): Promise<boolean> {
    try {
      await this.#parts.store.commit(writes);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }
}

const isRunBy = ({ id, machines }: KnownNode, machine: KnownMachine) =>
  machine.node === id && machines.includes(machine.id);

const ownedBy = ({ id }: KnownNode, all: readonly KnownMachine[]): KnownMachine[] =>
  all.filter(({ node }) => node === id);
