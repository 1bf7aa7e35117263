/** Records which master key seals for the installation, and replaces it by another one. */
import { rewrapCredential } from "../../jobs/credential.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, WriteRefused } from "../../ports/store/store.ts";
import { UnknownMasterKey, type Vault } from "../../ports/vault/vault.ts";
import type { BatchRecords } from "../batches/records.ts";
import type { RegistryService } from "../registries/service.ts";
import type { S3KeyService } from "../s3-keys/service.ts";
import type { SshHostKey } from "../ssh/host-key.ts";
import type { MachineKeys } from "./machine-keys.ts";
import type { SecretService } from "./service.ts";

/** Only the names of the keys are stored, never the keys. */
type KeptMasterKeys = { current: string; retired: string[] };

const masterKeys: Kept<KeptMasterKeys> = { kind: "master-keys", v: 1 };
const ONLY = "only";
/** The record belongs to the whole installation. */
const EVERYONE = "*";
/** Only this many retired keys are recorded. A server with an older one is refused anyway, since its key opens nothing. */
const RETIRED_AT_MOST = 100;
/** If nobody else works on the data, the second pass finds nothing left to do. */
const PASSES_AT_MOST = 3;

export interface Rewrapped {
  rewrapped: number;
  /** The number of values that were sealed with a key that is not here. They cannot be read without it. */
  unreadable?: number;
}

export class MasterKeys {
  readonly #known: Collection<KeptMasterKeys>;
  readonly #vault: Vault;
  readonly #secrets: SecretService;
  readonly #registries: RegistryService;
  readonly #s3Keys: S3KeyService;
  readonly #sshHostKey: SshHostKey;
  readonly #machineKeys: MachineKeys;
  readonly #batches: BatchRecords;
  readonly #clock: Clock;

  constructor(parts: {
    store: Store;
    vault: Vault;
    secrets: SecretService;
    registries: RegistryService;
    s3Keys: S3KeyService;
    sshHostKey: SshHostKey;
    machineKeys: MachineKeys;
    batchRecords: BatchRecords;
    clock: Clock;
  }) {
    this.#known = new Collection(parts.store, masterKeys);
    this.#vault = parts.vault;
    this.#secrets = parts.secrets;
    this.#registries = parts.registries;
    this.#s3Keys = parts.s3Keys;
    this.#sshHostKey = parts.sshHostKey;
    this.#machineKeys = parts.machineKeys;
    this.#batches = parts.batchRecords;
    this.#clock = parts.clock;
  }

  prepare(): Promise<void> {
    return this.#known.prepare();
  }

  /** Throws if this process lacks the current master key, or would seal with a retired one. It runs before anything is sealed. */
  async check(): Promise<void> {
    const { current, retired } = (await this.#noted()).doc;
    const [newest] = this.#vault.masters;
    if (!this.#vault.masters.includes(current)) {
      const advice = "give this server the key that the installation was last started with, or rotated to";
      throw new Error(`the master key '${current}' of this installation is not known here: ${advice}`);
    }
    if (retired.includes(newest!))
      throw new Error(`the master key '${newest}' was retired by a rotation: put the current one, '${current}', first`);
  }

  /**
   * Wraps everything that is sealed with the newest master key. When this returns, nothing needs an older one, and no server that seals
   * with an older one can start. Nobody else may work on the data meanwhile.
   */
  async rewrapAll(queue: Queue, progress: () => void): Promise<Rewrapped> {
    let rewrapped = 0;
    for (let pass = 1; ; pass++) {
      const done = await this.#rewrapOnce(queue);
      rewrapped += done.rewrapped;
      progress();
      // The older keys are retired before the last pass, so that nothing can come to need them after it.
      if (pass === 1) await this.#retireOlder();
      else if (done.rewrapped === 0) return { rewrapped, ...(done.unreadable > 0 && { unreadable: done.unreadable }) };
      else if (pass === PASSES_AT_MOST) throw new Error("something still seals with an older key; all keys are kept");
      progress();
    }
  }

  async #rewrapOnce(queue: Queue): Promise<Required<Rewrapped>> {
    const unreadable = new Set<string>();
    const readable = <T>(id: string, rewrap: () => T): T | undefined => {
      try {
        return rewrap();
      } catch (error) {
        if (!(error instanceof UnknownMasterKey)) throw unfit(id, error);
        unreadable.add(id);
        return undefined;
      }
    };
    const values = await this.#secrets.reseal((sealed, id) =>
      readable(`secret ${id}`, () => this.#vault.rewrap(sealed)),
    );
    const credentials = await this.#registries.reseal((sealed, id) =>
      readable(`registry ${id}`, () => this.#vault.rewrap(sealed)),
    );
    const s3Keys = await this.#s3Keys.reseal((sealed, id) =>
      readable(`S3 key ${id}`, () => this.#vault.rewrap(sealed)),
    );
    const hostKeys = await this.#sshHostKey.reseal((sealed) =>
      readable("the SSH host key", () => this.#vault.rewrap(sealed)),
    );
    const machineKeys = await this.#machineKeys.reseal((sealed, id) =>
      readable(`the key of machine ${id}`, () => this.#vault.rewrap(sealed)),
    );
    const bodies = await queue.reseal((body, id) => readable(`job ${id}`, () => rewrapCredential(this.#vault, body)));
    const drafts = await this.#batches.reseal((body, id) =>
      readable(`request ${id}`, () => rewrapCredential(this.#vault, body)),
    );
    return {
      rewrapped: values + credentials + s3Keys + hostKeys + machineKeys + bodies + drafts,
      unreadable: unreadable.size,
    };
  }

  async #retireOlder(): Promise<void> {
    const [current, ...older] = this.#vault.masters as [string, ...string[]];
    await this.#noted();
    await this.#known.change(ONLY, ({ doc: { current: before, retired } }) => {
      const all = new Set([...older, ...(before === current ? [] : [before]), ...retired]);
      all.delete(current);
      return { set: { current, retired: [...all].slice(0, RETIRED_AT_MOST) } };
    });
  }

  /** The recorded master keys. At the first start of an installation, the first server records its newest key. */
  async #noted(): Promise<Item<KeptMasterKeys>> {
    for (;;) {
      const noted = await this.#known.get(ONLY);
      if (noted) return noted;
      const doc = { current: this.#vault.masters[0]!, retired: [] };
      try {
        return await this.#known.insert({ id: ONLY, account: EVERYONE, createdAt: this.#clock.now(), doc });
      } catch (error) {
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }
}

function unfit(id: string, cause: unknown): Error {
  return new Error(`${id} could not be sealed anew; all keys are kept`, { cause });
}
