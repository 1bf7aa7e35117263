/** Forms a cluster from its members if its type asks for it: starts Ray or Slurm on each member whose image has the programs. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Clock } from "../../../kernel/clock.ts";
import { type Failed, named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import { KIB } from "../../../kernel/operation.ts";
import { isProblem } from "../../../kernel/problem.ts";
import type { InstanceLog } from "../../../machines/instance-log.ts";
import { whyLacking } from "../../../ports/compute/abilities.ts";
import { type Compute, StartRefused } from "../../../ports/compute/compute.ts";
import { ExecRefused } from "../../../ports/compute/refusal.ts";
import { MOST_MEMBERS } from "../../clusters/model.ts";
import type { ShellParts } from "../../shells.ts";
import type { KeptPodInstance, PodInstance } from "../instance.ts";
import type { ClusterRole, ClusterSeat } from "../model.ts";
import type { PodRecords } from "../records.ts";
import { ClusterNetworks, type ClusterNetworksParts } from "./cluster-networks.ts";

export interface FormingParts extends ClusterNetworksParts {
  compute: Compute;
  clock: Clock;
  podRecords: PodRecords;
  podLog: InstanceLog<KeptPodInstance>;
  failed: Failed;
  /** Runs programs in members on other machines. Absent on a single node. */
  elsewhere?: ShellParts["elsewhere"];
}

const scripts: Record<ClusterRole, string> = {
  RAY_HEAD: "form-ray.sh",
  RAY_WORKER: "form-ray.sh",
  SLURM_CONTROLLER: "form-slurm.sh",
  SLURM_COMPUTE: "form-slurm.sh",
};
const SCRIPT = new Map(
  Object.values(scripts).map((name) => [name, readFileSync(join(import.meta.dirname, name), "utf8")]),
);

/** The exit code with which a script says that it needs something another member does not have yet. */
const LATER = 75;
const AGAIN_MS = 5000;
const MOST_TRIES = 60;
/** Limits of a script's output, since the programs of an image are not ours. */
const MOST_LINES = 20;
const MOST_BYTES = 16 * KIB;

/** Prints what members of Slurm need from the controller: its host name and key. */
const SECRET = "hostname && base64 /etc/munge/millrace.key";

interface Run {
  script: string;
  input?: string;
  env?: Record<string, string>;
}

export class Forming {
  readonly #parts: FormingParts;
  readonly #networks: ClusterNetworks;
  /**
   * The boot of each instance that this was done for. When a program ends, its Ray or Slurm ends too and is started again after the next
   * boot.
   */
  readonly #done = new Map<string, number | null>();
  #isClosed = false;

  constructor(parts: FormingParts) {
    this.#parts = parts;
    this.#networks = new ClusterNetworks(parts);
  }

  /** Called when a member's program runs, or is found running by the next server. Programs that already run beside it are left alone. */
  form(item: PodInstance, seat: ClusterSeat): void {
    const { bootedAt } = item.doc;
    if (seat.role === null || this.#done.get(item.id) === bootedAt) return;
    this.#done.set(item.id, bootedAt);
    floating(this.#form(item, seat, seat.role), named(this.#parts.failed, "form clusters"));
  }

  forget(instance: string): void {
    this.#done.delete(instance);
  }

  /** Scripts that run end with the server. The next server runs them again. */
  close(): void {
    this.#isClosed = true;
  }

  async #form(item: PodInstance, seat: ClusterSeat, role: ClusterRole): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (!(await this.#isRunning(item))) return;
      const secret = role === "SLURM_COMPUTE" ? await this.#secretOf(item.account, seat.id) : "";
      const env = await this.#addressesFor(item, seat);
      if (!env) return;
      const { code, said } = await this.#run(item.id, { script: SCRIPT.get(scripts[role])!, input: secret, env });
      if (code !== LATER) return this.#say(item, code, said);
      await new Promise<void>((resolve) => this.#parts.clock.after(AGAIN_MS, resolve));
    }
    this.#parts.podLog.say(item, `it has not joined its cluster: the primary did not answer ${MOST_TRIES} times`);
  }

  /** The variables with the addresses of all members, and with the member's own IP address. */
  async #addressesFor({ doc }: PodInstance, { rank }: ClusterSeat): Promise<Record<string, string> | undefined> {
    const pod = await this.#parts.podRecords.pods.get(doc.owner);
    const network = pod && (await this.#networks.of(pod).catch(ifRefused));
    return network && { MEMBER_ADDRS: network.hosts.join(" "), MEMBER_IP: pod.doc.address ?? network.hosts[rank]! };
  }

  async #isRunning({ id }: PodInstance): Promise<boolean> {
    if (this.#isClosed) return false;
    return (await this.#parts.podRecords.instances.find(id))?.doc.state === "RUNNING";
  }

  /** The host name and key of the Slurm controller, which are only known inside of it. Empty while there is no controller. */
  async #secretOf(account: string, cluster: string): Promise<string> {
    const members = await this.#parts.podRecords.membersOf(account, cluster, MOST_MEMBERS);
    const primary = members.find(({ doc }) => doc.cluster?.rank === 0);
    if (primary?.doc.status !== "RUNNING" || primary.doc.instance === null) return "";
    const { code, said } = await this.#run(primary.doc.instance, { script: SECRET }, primary.doc.last?.machine);
    return code === 0 ? said : "";
  }

  async #run(
    instance: string,
    { script, input = "", env = {} }: Run,
    machine = this.#parts.machine,
  ): Promise<{ code: number | null; said: string }> {
    try {
      const { compute, elsewhere } = this.#parts;
      const spec = { cmd: ["sh", "-c", script], env };
      const isHere = machine === this.#parts.machine || !elsewhere;
      if (isHere && !compute.exec) return { code: null, said: whyLacking(compute, "exec") };
      const execution = await (isHere ? compute.exec!.run(instance, spec) : elsewhere.exec(machine, instance, spec));
      execution.stdin.end(input);
      const { stdout, stderr, exit } = execution;
      const [said, errors, { code }] = await Promise.all([firstOf(stdout), firstOf(stderr), exit]);
      return { code, said: said + errors };
    } catch (error) {
      // The node of the primary is silent. Another try may find it.
      if (error instanceof ExecRefused || isProblem(error)) return { code: null, said: error.message };
      throw error;
    }
  }

  #say(item: PodInstance, code: number | null, said: string): void {
    const lines = said.split("\n").filter((line) => line.trim() !== "");
    for (const line of lines.slice(-MOST_LINES)) this.#parts.podLog.say(item, `cluster: ${line}`);
    if (code !== 0) this.#parts.podLog.say(item, `cluster: it was not joined (exit ${code ?? "unknown"})`);
  }
}

/** The cluster was deleted meanwhile. */
function ifRefused(error: unknown): undefined {
  if (!(error instanceof StartRefused)) throw error;
}

/** Keeps only the beginning. The rest is read too, so that its writer does not block. */
async function firstOf(stream: Readable): Promise<string> {
  let said = "";
  for await (const piece of stream.setEncoding("utf8")) if (said.length < MOST_BYTES) said += piece;
  return said.slice(0, MOST_BYTES);
}
