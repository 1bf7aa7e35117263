/** What is shown of a Pod in addition to its record: what it uses, costs and offers at this moment. */

import type { Catalog } from "../../catalog/catalog.ts";
import { onceInCatalog } from "../../catalog/once-in-catalog.ts";
import type { Clock } from "../../kernel/clock.ts";
import { onceFor } from "../../kernel/once-for.ts";
import { type Reason, type ReasonCode, reworded, withPlacesHidden } from "../../kernel/reason.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { type SilentSince, silenceOf } from "../../machines/silences.ts";
import { priceOf } from "../../metering/prices.ts";
import { HOURS_PER_MONTH } from "../../metering/reckoning.ts";
import type { Payable, Price } from "../../metering/span.ts";
import { sshUser } from "../ssh/logins.ts";
import { podStorage, yieldsOf } from "./billed.ts";
import { type PodAction, type PodStatus, podActionsOf } from "./lifecycle.ts";
import type { KeptPod } from "./model.ts";
import { type PodPort, portsOf } from "./ports.ts";
import type { PodItem } from "./records.ts";

/** What the Pod's program uses, in percent, as far as it can be measured. */
export interface Figures {
  cpu: number;
  memory: number;
  gpus: { util: number; memoryUtil: number }[];
}

/** A port, and how to reach it. */
export interface PortView {
  private: number;
  public: number | null;
  type: string;
  ip: string | null;
  url?: string;
}

export interface ViewParts {
  clock: Clock;
  /** Since when a machine is silent, and which instances a Pod may have on machines. */
  silentSince?: SilentSince;
  instances?: Pick<InstanceRecords, "rememberedOf">;
  /** What is being done for an instance that does not run yet. */
  progressOf?: (instance: string) => Reason | undefined;
  figuresOf?: (instance: string) => Figures | undefined;
  /** The URL of a Pod's HTTP port. */
  urlOf?: (pod: string, port: number) => string;
  /** The address for SSH. Undefined if Pods are not reachable by SSH. */
  sshAt?: () => { host: string; port: number } | undefined;
}

export interface SshEndpoint {
  host: string;
  port: number;
  username: string;
  command: string;
}

/** The parts of a Pod that change from moment to moment. */
export interface PodView {
  status: PodStatus;
  statusReason: string | null;
  statusReasonCode: ReasonCode | null;
  actions: PodAction[];
  /** The current cost of compute per hour, while the Pod has a place. */
  cost: number;
  ssh: { proxy: SshEndpoint | null; direct: SshEndpoint | null };
  runtime: {
    uptime: number;
    gpus: Figures["gpus"];
    cpu: { util: number };
    memory: { util: number };
    ports: PortView[];
  } | null;
}

/** The part of the view that the older surfaces show too. */
export interface BriefView extends Pick<PodView, "status" | "statusReason" | "statusReasonCode" | "cost"> {
  use: Omit<NonNullable<PodView["runtime"]>, "ports"> | null;
}

const NANO = 1e9;

// These are cached per record, because lists show many Pods and most records have not changed.
const loginOf = onceFor(
  ({ id }: PodItem) => sshUser(id),
  ({ doc }) => doc,
);
const asShown = onceFor((reason: Reason) => withPlacesHidden(reason));

/**
 * Statuses that cannot be shown for a Pod on a silent machine, because nobody knows whether it runs or has ended. Both are shown as
 * STARTING.
 */
const CLAIMS: readonly PodStatus[] = ["RUNNING", "EXITED"];

/** What should happen to the Pod, and which machine that waits for. */
function waitsFor({ status, instance, reason }: KeptPod, silence: Reason): Reason {
  const ends = (text: string) => `${reason?.text ?? "it is to end"}; waits for ${text}, to end what runs of it there`;
  if (instance === null) return reworded(silence, ends);
  if (status === "RUNNING") return reworded(silence, (text) => `it is on ${text}, and may still be running there`);
  return reworded(silence, (text) => `${reason?.text ?? "about to be started"}; waits for ${text}`);
}

export class PodViews {
  readonly #parts: ViewParts;

  constructor(parts: ViewParts) {
    this.#parts = parts;
  }

  /** What its storage costs per hour, for as long as the Pod exists. */
  storageCost(pod: PodItem): number {
    return costsOf(pod).storage;
  }

  of(pod: PodItem): PodView {
    const { doc } = pod;
    const { status, statusReason, statusReasonCode, cost, use } = this.brief(pod);
    return {
      ...{ status, statusReason, statusReasonCode, cost },
      actions: podActionsOf(doc),
      ssh: { proxy: this.#sshProxy(pod), direct: status === "RUNNING" ? sshOf(doc) : null },
      runtime: use && { ...use, ports: portsOf(doc).map((port) => this.#port(pod, port)) },
    };
  }

  brief(pod: PodItem): BriefView {
    const { doc } = pod;
    const silence = this.#silenceOf(pod);
    const status = silence && CLAIMS.includes(doc.status) ? "STARTING" : doc.status;
    const known = silence ? waitsFor(doc, silence) : status === "RUNNING" ? null : this.#reason(doc);
    const reason = known && asShown(known);
    return {
      status,
      statusReason: reason?.text ?? (status === "RUNNING" ? null : ""),
      statusReasonCode: reason?.code ?? null,
      cost: silence ? 0 : costsOf(pod).compute,
      use: status === "RUNNING" ? this.#use(doc) : null,
    };
  }

  /** The silent machine that the Pod is on, or where an instance of it has not been ended. */
  #silenceOf({ id, doc }: PodItem): Reason | undefined {
    const { silentSince = () => undefined, instances } = this.#parts;
    const isSilent = (machine: string) => silentSince(machine) !== undefined;
    if (!doc.machines.some(isSilent)) return undefined;
    const machines = doc.machines.filter(isSilent);
    const own = doc.instance === null ? undefined : doc.last?.machine;
    const left = instances?.rememberedOf(id).map((item) => item.doc.machine) ?? [];
    const machine = machines.find((one) => one === own || left.includes(one));
    return machine === undefined ? undefined : silenceOf(machine, silentSince(machine)!);
  }

  #reason({ instance, status, reason }: KeptPod): Reason | null {
    const progress = instance === null || status === "EXITED" ? undefined : this.#parts.progressOf?.(instance);
    return progress ?? reason;
  }

  /** Shown from the Pod's first machine on. If nothing runs at the time of a login, the login says so. */
  #sshProxy(pod: PodItem): SshEndpoint | null {
    const { doc } = pod;
    const at = this.#parts.sshAt?.();
    return at && doc.last ? sshEndpoint(at.host, at.port, loginOf(pod)) : null;
  }

  #use({ startedAt, instance }: KeptPod): BriefView["use"] {
    const { clock, figuresOf } = this.#parts;
    const figures = instance === null ? undefined : figuresOf?.(instance);
    return {
      uptime: Math.max(0, Math.floor((clock.now() - (startedAt ?? clock.now())) / 1000)),
      gpus: figures?.gpus ?? [],
      cpu: { util: figures?.cpu ?? 0 },
      memory: { util: figures?.memory ?? 0 },
    };
  }

  #port({ id, doc }: PodItem, { named, type, inside, outside }: PodPort): PortView {
    const view = { private: inside ?? named, public: outside ?? null, type };
    if (type === "tcp") return { ...view, ip: outside === undefined ? null : (doc.portsAt?.ip ?? null) };
    return { ...view, ip: null, ...(this.#parts.urlOf && { url: this.#parts.urlOf(id, named) }) };
  }
}

/** The direct address of port 22, if it is published. */
function sshOf({ ports, publicPorts, portsAt }: KeptPod): SshEndpoint | null {
  const ip = portsAt?.ip ?? null;
  const port = publicPorts[22];
  if (!ports.includes("22/tcp") || ip === null || port === undefined) return null;
  return sshEndpoint(ip, port, "root");
}

const sshEndpoint = (host: string, port: number, username: string): SshEndpoint => ({
  ...{ host, port, username },
  command: `ssh ${username}@${host} -p ${port}`,
});

/** These are reckoned once for each record and catalog, because lists show many Pods and most records have not changed. */
const costsOf = onceInCatalog(
  (pod: PodItem, catalog) => {
    const storage = podStorage(pod)!;
    return {
      compute: computeCost(pod, storage, catalog),
      storage: hourly(priceOf(storage, catalog)) / NANO,
    };
  },
  ({ doc }) => doc,
);

/** A Pod without a place costs nothing here. */
function computeCost({ doc }: PodItem, storage: Payable, catalog: Catalog): number {
  const { instance, last } = doc;
  if (instance === null || !last) return 0;
  const { gpu, cpu } = priceOf({ ...storage, ...last, ...yieldsOf(doc), phase: "running" }, catalog);
  return (gpu + cpu) / NANO;
}

/** The hourly cost of storage. Its prices are per month. */
const hourly = ({ storage }: Price) => Math.round(storage / HOURS_PER_MONTH);
