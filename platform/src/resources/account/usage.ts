/** Counts what an account has of everything that a quota limits. */
import type { Kept } from "../../kernel/document.ts";
import { heldBy } from "../../machines/held.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { Counting, Store } from "../../ports/store/store.ts";
import { endpoints } from "../endpoints/model.ts";
import { pods } from "../pods/model.ts";
import { delegations, registries } from "../registries/model.ts";
import { s3Keys } from "../s3-keys/model.ts";
import { secrets } from "../secrets/model.ts";
import { templates } from "../templates/model.ts";
import { networkVolumes } from "../volumes/model.ts";
import { type KeptWorker, takesPlace } from "../workers/model.ts";
import { apiKeys } from "./model.ts";
import type { QuotaName, Quotas } from "./quotas.ts";

type Counted = Exclude<QuotaName, "workers" | "gpus" | "vcpu">;

/** The records that count against each quota. The services that make them use the same kinds in their bounds. */
const RECORDS: Record<Counted, { of: readonly Pick<Kept<never>, "kind">[]; sum?: string }> = {
  pods: { of: [pods] },
  volumes: { of: [networkVolumes] },
  gb: { of: [networkVolumes], sum: "size" },
  endpoints: { of: [endpoints] },
  keys: { of: [apiKeys] },
  secrets: { of: [secrets] },
  registries: { of: [registries, delegations] },
  templates: { of: [templates] },
  s3keys: { of: [s3Keys] },
};

export class AccountUsage {
  readonly #store: Store;
  readonly #instances: InstanceRecords;

  constructor({ store, instanceRecords }: { store: Store; instanceRecords: InstanceRecords }) {
    this.#store = store;
    this.#instances = instanceRecords;
  }

  async of(account: string): Promise<Quotas> {
    const counted = Object.entries(RECORDS).map(async ([name, { of, sum }]) => {
      const counts = await Promise.all(of.map(({ kind }) => this.#store.count({ kind, account, sum } as Counting)));
      return [name, counts.reduce((total, count) => total + count, 0)] as const;
    });
    const own = (await this.#instances.all()).filter((item) => item.account === account);
    const workers = own.filter(({ doc }) => doc.kind === "worker" && takesPlace(doc as KeptWorker)).length;
    return { workers, ...heldBy(own), ...Object.fromEntries(await Promise.all(counted)) } as Quotas;
  }
}
