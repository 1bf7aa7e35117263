/** Networks reserved on this machine, each in a file, so that the next process of the server reports the same addresses. */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ifNotThere } from "../../kernel/not-there.ts";
import { replacePrivately } from "../../kernel/private-file.ts";
import type { ReservedNetwork } from "../../ports/compute/groups.ts";
import type { Span } from "../../ports/compute/spans.ts";

export interface KeptNetwork extends ReservedNetwork {
  range: string;
  /** Identifies the network by its account and its id. */
  key: string;
  /** The number of its bridge, which exists while the network has members. */
  number: number;
  /** Absent if the network is on this machine alone. */
  span?: KeptSpan;
}

/** Where the other machines are is told anew after every start of the server. */
export type KeptSpan = Omit<Span, "others">;

/** Among the folders of instances, names that begin with a dot belong to the driver. */
const FOLDER = ".networks";
const FILE = /^[0-9a-f]{64}\.json$/;

export class KeptNetworks {
  readonly #folder: string;
  readonly #all = new Map<string, KeptNetwork>();

  /** `folder` is the folder that holds the instances. */
  constructor(folder: string) {
    this.#folder = join(folder, FOLDER);
  }

  /**
   * Finds the networks of an earlier process. A file that it was writing when it was killed is removed: no caller was told of that network.
   */
  async find(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(ifNotThere<string[]>([]))) {
      const file = join(this.#folder, name);
      if (!FILE.test(name)) await rm(file, { force: true, recursive: true });
      else this.#know(JSON.parse(await readFile(file, "utf8")) as KeptNetwork);
    }
  }

  get all(): KeptNetwork[] {
    return [...this.#all.values()];
  }

  of(key: string): KeptNetwork | undefined {
    return this.#all.get(key);
  }

  async keep(network: KeptNetwork): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replacePrivately(this.#fileOf(network.key), JSON.stringify(network));
    this.#know(network);
  }

  async drop(key: string): Promise<void> {
    await rm(this.#fileOf(key), { force: true });
    this.#all.delete(key);
  }

  #know(network: KeptNetwork): void {
    this.#all.set(network.key, network);
  }

  #fileOf(key: string): string {
    return join(this.#folder, `${key}.json`);
  }
}
