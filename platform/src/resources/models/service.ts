/** The rules of models: who adds them, who may use them, and what a worker that needs some waits for. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { because, type Reason } from "../../kernel/reason.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { changedIn, isEmpty } from "../../kernel/same.ts";
import type { Static } from "../../kernel/schema.ts";
import type { Among } from "../../machines/need.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import { endpoints, type KeptEndpoint } from "../endpoints/model.ts";
import { SHARED_STORAGE } from "../volumes/model.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import {
  type KeptModel,
  type KeptSource,
  MOST_MODELS,
  Model,
  modelLifecycle,
  pathOf,
  type Reference,
  referenceIn,
  volumeOf,
} from "./model.ts";
import { type CopyItem, EVERYONE, type ModelItem, type ModelRecords } from "./records.ts";

export type NewModel = Static<typeof Model.create>;
export type ModelChange = Static<typeof Model.update>;

/** What the workers of an endpoint get of its models, or why they do not get them yet. */
export type ModelStanding = { reason: Reason } | { among: Among; mounts: { volume: string; path: string }[] };

export interface ModelParts extends RecordParts {
  modelRecords: ModelRecords;
  volumes: Pick<NetworkVolumeService, "get">;
  /** Whether an account is that of the installation's owner. */
  isOwners: (account: string) => Promise<boolean>;
  node: string;
  /** Makes the machines have what is on record. */
  modelsChanged: () => void;
}

const REMEMBERED_MS = 1000;
const NAMED_AT_MOST = 10;

export class ModelService {
  readonly records: ModelRecords;
  readonly #parts: ModelParts;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #endpoints: Collection<KeptEndpoint>;
  readonly #standings: Remembered<ModelStanding>;

  constructor(parts: ModelParts) {
    this.#parts = parts;
    this.records = parts.modelRecords;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#endpoints = new Collection(parts.store, endpoints);
    this.#standings = new Remembered(parts.clock, REMEMBERED_MS);
  }

  /** Lists the newest first. */
  list(): Promise<ModelItem[]> {
    return this.records.list();
  }

  async get(id: string): Promise<ModelItem> {
    return this.records.models.owned({ account: EVERYONE }, id);
  }

  copiesOf(id: string): Promise<CopyItem[]> {
    return this.records.copiesOf(id);
  }

  async create(caller: Caller, asked: NewModel): Promise<ModelItem> {
    const { folder, networkVolume, revision, ...given } = asked;
    if ((folder === undefined) === (networkVolume === undefined))
      throw problem("rule-broken", "Exactly one of 'folder' and 'networkVolume' must be set.");
    if ((await this.records.models.count({ account: EVERYONE })) >= MOST_MODELS)
      throw problem("rule-broken", `The installation has ${MOST_MODELS} models, and can have no more.`);
    const { node } = this.#parts;
    const source: KeptSource =
      folder === undefined ? await this.#volumeSource(caller, networkVolume!) : { folder, node };
    const doc: KeptModel = {
      ...unsaidOf(Model),
      ...given,
      ...{ state: modelLifecycle.begin("FILLING"), reason: null, source },
      ...(revision !== undefined && { asked: revision }),
    };
    const record = newRecord({ clock: this.#clock, random: this.#random }, EVERYONE);
    const made = await this.records.models.insert({ ...record, doc });
    this.#changed();
    return made;
  }

  async #volumeSource(caller: Caller, { id, path = "" }: NonNullable<NewModel["networkVolume"]>): Promise<KeptSource> {
    const { doc } = await this.#parts.volumes.get(caller, id);
    const names = path.split("/").filter((name) => name !== "");
    if (names.some((name) => name === "." || name === ".."))
      throw problem("invalid", "Request validation failed.", {
        errors: ["$.networkVolume.path: has a part that is '.' or '..'"],
      });
    return { volume: id, path: names.join("/"), machine: doc.machine, node: this.#parts.node };
  }

  async update(id: string, set: ModelChange): Promise<ModelItem> {
    const changed = await this.records.models.changeOwned({ account: EVERYONE }, id, ({ doc }) => {
      const said = changedIn(doc, set);
      return isEmpty(said) ? undefined : { set: said };
    });
    this.#changed();
    return changed;
  }

  /** The files go once no worker that is still ending sees them. */
  async remove(id: string): Promise<void> {
    await this.records.models.changeOwned({ account: EVERYONE }, id, async (item) => {
      await this.#refuseWhileUsed(item);
      return { remove: true };
    });
    this.#changed();
  }

  async #refuseWhileUsed({ id, doc }: ModelItem): Promise<void> {
    const named: string[] = [];
    const key = { name: "model", value: doc.name };
    for await (const endpoint of this.#endpoints.all({ key })) {
      const found = await this.#resolved(endpoint.account, endpoint.doc.modelReferences);
      if (!found.some(({ model }) => model?.id === id)) continue;
      named.push(`endpoint '${endpoint.doc.name}' (${endpoint.id}) of account ${endpoint.account}`);
      if (named.length > NAMED_AT_MOST) break;
    }
    if (named.length === 0) return;
    const more = named.length > NAMED_AT_MOST ? " and others" : "";
    const who = named.slice(0, NAMED_AT_MOST).join(", ") + more;
    throw problem("rule-broken", `This model is in use by ${who}. Change or delete what uses it first.`);
  }

  /** Those that an account may use, the newest of each name and revision first. */
  async usable({ account }: Pick<Caller, "account">): Promise<ModelItem[]> {
    const isOwners = await this.#parts.isOwners(account);
    return (await this.list()).filter(({ doc }) => isOwners || mayUse(doc, account));
  }

  /** Writes for the commit that makes an endpoint name these models, so that no deletion overlooks it. Throws if one is unknown. */
  async using(account: string, references: readonly string[] = []): Promise<Write[]> {
    const found = await this.#resolved(account, references);
    const unknown = found.find(({ model }) => !model);
    if (unknown) {
      const known = [...new Set((await this.usable({ account })).map(({ doc }) => doc.name))].slice(0, NAMED_AT_MOST);
      const has = known.length === 0 ? "there are none" : `such as ${known.join(", ")}`;
      throw problem(
        "rule-broken",
        `'modelReferences' names '${unknown.text}', which is no model that this account may use (${has}). The operator of the installation adds models.`,
      );
    }
    const names = found.map(({ model }) => model!.doc.name);
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice) throw problem("rule-broken", `'modelReferences' names '${twice}' twice.`);
    return found.map(({ model }) => this.records.models.touching(model!.id));
  }

  /** What the workers of an endpoint get, as it was a moment ago. */
  async standing(account: string, references: readonly string[]): Promise<ModelStanding> {
    const name = `${account} ${references.join(" ")}`;
    const remembered = this.#standings.get(name);
    if (remembered) return remembered;
    const standing = await this.#standing(account, references);
    this.#standings.set(name, standing);
    return standing;
  }

  async #standing(account: string, references: readonly string[]): Promise<ModelStanding> {
    const mounts: { volume: string; path: string }[] = [];
    const among: Among[] = [];
    for (const { text, model } of await this.#resolved(account, references)) {
      if (!model) return { reason: because("model-gone", { model: text }) };
      const { name, state } = model.doc;
      if (state === "FAILED") return { reason: because("model-failed", { model: name }) };
      const copies = await this.copiesOf(model.id);
      if (state === "FILLING") return { reason: fillingReason(model, copies) };
      mounts.push({ volume: volumeOf(model.id), path: pathOf(name) });
      among.push(amongOf(name, copies));
    }
    return { mounts, among: allOf(among) };
  }

  async #resolved(
    account: string,
    references: readonly string[] = [],
  ): Promise<{ text: string; model: ModelItem | undefined }[]> {
    const isOwners = references.length > 0 && (await this.#parts.isOwners(account));
    return Promise.all(
      references.map(async (text) => {
        const reference = referenceIn(text);
        const named = await this.records.named(reference.name);
        const usable = named.filter(({ doc }) => isOwners || mayUse(doc, account));
        return { text, model: chosen(usable, reference) };
      }),
    );
  }

  #changed(): void {
    this.#standings.clear();
    this.#parts.modelsChanged();
  }
}

const mayUse = ({ everyone, accounts }: KeptModel, account: string) => everyone || accounts.includes(account);

/** Of several with one name the newest that is ready; if none is, the newest. */
function chosen(models: readonly ModelItem[], { revision }: Reference): ModelItem | undefined {
  const fitting = models.filter(
    ({ doc }) => revision === undefined || revision === (doc.found?.revision ?? doc.asked) || revision === doc.asked,
  );
  const best = (state: KeptModel["state"] | "READY" | "FILLING") => fitting.find(({ doc }) => doc.state === state);
  return best("READY") ?? best("FILLING") ?? fitting[0];
}

/** Why a model is not ready yet, and how much of it is there. */
export function fillingReason({ doc: { name, found } }: ModelItem, copies: readonly CopyItem[]): Reason {
  const done = Math.max(0, ...copies.map(({ doc }) => doc.bytes));
  const percent = found && { percent: percentOf(done, found) };
  return because("model-filling", { model: name, machines: copies.length, ...percent });
}

const percentOf = (done: number, { bytes }: { bytes: number }) =>
  bytes === 0 ? 100 : Math.min(99, Math.floor((done / bytes) * 100));

function amongOf(name: string, copies: readonly CopyItem[]): Among {
  const ready = copies.filter(({ doc }) => doc.state === "READY").map(({ doc }) => doc.holder);
  return {
    machines: ready.filter((holder) => holder !== SHARED_STORAGE),
    shared: ready.includes(SHARED_STORAGE),
    lacks: `needs a machine that has model ${name}`,
  };
}

function allOf(all: readonly Among[]): Among {
  return all.reduce((one, other) => ({
    machines: one.machines.filter((id) => other.shared || other.machines.includes(id)),
    shared: one.shared && other.shared,
    lacks: `${one.lacks} and ${other.lacks.slice("needs a machine that has ".length)}`,
  }));
}
