/** Reads an account by the documented API of its server, REST v2 or v1. Its answers are not trusted: each has a limit of size and time. */
import { type Clock, stay } from "@millrace/platform/kernel/clock.ts";
import type { TSchema } from "@millrace/platform/kernel/schema.ts";
import { failures } from "@millrace/platform/kernel/validate.ts";
import { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { Pod } from "@millrace/platform/resources/pods/model.ts";
import { secretsIn } from "@millrace/platform/resources/secrets/placeholders.ts";
import { Template } from "@millrace/platform/resources/templates/model.ts";
import { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { EXIT, Failure } from "../failure.ts";
import { request, textOf } from "../http.ts";
import type { Profile } from "../profiles.ts";
import { type Account, type Definition, type Fields, isFields, type Kind, kinds, shown } from "./definition.ts";
import { type Around, bodiesFromV1, type GpuType } from "./v1.ts";
import { bodiesFromV2 } from "./v2.ts";

export type Version = "v1" | "v2";

/** Where the lists of each kind are. REST v2 answers an object with the records under a key, REST v1 a bare list. */
const LISTS = {
  v2: {
    secrets: { path: "/v2/account/secrets", key: "secrets" },
    registries: { path: "/v2/registries", key: "registries" },
    volumes: { path: "/v2/network-volumes", key: "networkVolumes" },
    templates: { path: "/v2/templates", key: "templates" },
    endpoints: { path: "/v2/serverless", key: "endpoints" },
    pods: { path: "/v2/pods", key: "pods" },
  },
  v1: {
    registries: { path: "/v1/containerregistryauth", key: "" },
    volumes: { path: "/v1/networkvolumes", key: "" },
    templates: { path: "/v1/templates", key: "" },
    endpoints: { path: "/v1/endpoints?includeTemplate=true", key: "" },
    pods: { path: "/v1/pods?includeMachine=true&includeNetworkVolume=true", key: "" },
  },
} as const;

/** One answer, one kind and one wait are never more than this. */
const LONGEST_ANSWER = 32 * 1024 * 1024;
const LONGEST_ANSWER_MS = 120_000;
const MOST_PAGES = 100;
const MOST_RECORDS = 10_000;
const LONGEST_PAUSE_S = 90;
const MOST_TRIES = 5;

const SCHEMAS: Partial<Record<Kind, TSchema>> = {
  ...{ volumes: NetworkVolume.create, templates: Template.create, endpoints: Endpoint.create, pods: Pod.create },
};

/** A refusal of the source that concerns one kind alone. */
class KindRefused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface SourceOptions extends Profile {
  clock: Clock;
  /** Which API to read; by default v2, and v1 where there is none. */
  version?: Version | undefined;
  /** The kinds that are wanted. */
  only: readonly Kind[];
}

export class Source {
  readonly #options: SourceOptions;
  readonly #dataCenters = new Map<string, unknown>();
  #version: Version;

  constructor(options: SourceOptions) {
    const ending = /\/(v[12])$/.exec(options.url)?.[1] as Version | undefined;
    this.#options = { ...options, url: options.url.replace(/\/v[12]$/, ""), version: options.version ?? ending };
    this.#version = this.#options.version ?? "v2";
  }

  get url(): string {
    return this.#options.url;
  }

  get version(): Version {
    return this.#version;
  }

  /** The data center of a volume at the source, which is the region of its S3 API. */
  dataCenterOf(volume: string): unknown {
    return this.#dataCenters.get(volume);
  }

  /**
   * Everything that is wanted and what that refers to, in the words of REST v2, and what could not be read. `gpus` is the catalog of the
   * target.
   */
  async account(gpus: readonly GpuType[]): Promise<Account> {
    await this.#findVersion();
    const account: Account = { definitions: [], unreadable: [] };
    const around = { templates: new Map<string, Fields>(), gpus };
    const wanted = withReferred(this.#options.only);
    for (const kind of kinds) {
      if (!wanted.has(kind)) continue;
      const records = await this.#recordsOf(kind, account);
      if (kind === "templates") for (const one of records) around.templates.set(String(one.id), one);
      for (const record of records) this.#read(kind, record, around, account);
    }
    if (wanted.has("secrets")) addNamedSecrets(account);
    return account;
  }

  async #findVersion(): Promise<void> {
    if (this.#options.version) return;
    try {
      await this.#get("/v2/registries");
    } catch (error) {
      if (!(error instanceof KindRefused)) throw error;
      if (error.status === 404) this.#version = "v1";
    }
  }

  async #recordsOf(kind: Kind, account: Account): Promise<Fields[]> {
    const list = (LISTS[this.#version] as Partial<Record<Kind, { path: string; key: string }>>)[kind];
    if (!list) return [];
    try {
      return await this.#pages(list.path, list.key);
    } catch (error) {
      if (!(error instanceof KindRefused)) throw error;
      // Older servers know no secrets. Their names are found in variables.
      if (kind === "secrets" && error.status === 404) return [];
      account.unreadable.push({ kind, name: "all", why: error.message });
      return [];
    }
  }

  async #pages(path: string, key: string): Promise<Fields[]> {
    const all: Fields[] = [];
    const seen = new Set<string>();
    for (let page = 0, at = path; page < MOST_PAGES; page++) {
      const answer = await this.#get(at);
      const records = key === "" ? answer : isFields(answer) ? answer[key] : undefined;
      if (!Array.isArray(records)) throw this.#odd(path, key === "" ? "no list" : `no list '${key}'`);
      for (const record of records) {
        if (!isFields(record)) throw this.#odd(path, "a record that is no object");
        all.push(record);
      }
      if (all.length > MOST_RECORDS) throw this.#odd(path, `more than ${MOST_RECORDS} records`);
      const { nextCursor } = (isFields(answer) && isFields(answer.pagination) && answer.pagination) || {};
      if (typeof nextCursor !== "string" || nextCursor === "" || key === "") return all;
      if (nextCursor.length > 4096 || seen.has(nextCursor)) throw this.#odd(path, "pages that do not end");
      seen.add(nextCursor);
      at = `${path}?${new URLSearchParams({ cursor: nextCursor })}`;
    }
    throw this.#odd(path, `more than ${MOST_PAGES} pages`);
  }

  #read(kind: Kind, record: Fields, around: Around, account: Account): void {
    const { id, name } = record;
    // A member of a cluster is made by its cluster, and a worker by its endpoint.
    if (kind === "pods" && (record.cluster || record.endpointId)) return;
    if (typeof id !== "string" || typeof name !== "string" || name === "" || name.length > 191 || id.length > 191) {
      account.unreadable.push({ kind, name: shown(String(name || id || "?")), why: "it has no usable id and name" });
      return;
    }
    try {
      const body =
        this.#version === "v2" || kind === "secrets" ? bodiesFromV2[kind](record) : bodiesFromV1[kind](record, around);
      const schema = SCHEMAS[kind];
      const wrong = schema ? failures(schema, body) : [];
      if (wrong.length > 0) throw new Error(wrong.slice(0, 3).join("; "));
      account.definitions.push({ kind, id, name, body });
      if (kind === "volumes") this.#dataCenters.set(id, body.dataCenter);
    } catch (error) {
      account.unreadable.push({ kind, name, why: shown((error as Error).message) });
    }
  }

  async #get(path: string): Promise<unknown> {
    for (let tried = 1; ; tried++) {
      const { status, text, pauseS } = await this.#answer(path);
      if (status === 429 && tried < MOST_TRIES && pauseS <= LONGEST_PAUSE_S) {
        await stay(pauseS * 1000);
        continue;
      }
      if (status === 401)
        throw new Failure(`${this.url} refused the key of the source. Give a key that is valid there.`, EXIT.refused);
      if (status === 403 || status === 404)
        throw new KindRefused(
          status,
          status === 403 ? "the key of the source may not read it" : "the source has no such list",
        );
      if (status !== 200) throw this.#odd(path, `status ${status}`);
      return this.#parsed(path, text);
    }
  }

  async #answer(path: string): Promise<{ status: number; text: string; pauseS: number }> {
    const { url, key, clock } = this.#options;
    const late = new AbortController();
    const timer = clock.after(LONGEST_ANSWER_MS, () => late.abort());
    try {
      const headers = { authorization: `Bearer ${key}`, accept: "application/json" };
      const answer = await request(new URL(url + path), { headers, signal: late.signal });
      const pauseS = Number(answer.headers["retry-after"] ?? 5);
      const text = await textOf(answer, LONGEST_ANSWER);
      return { status: answer.status, text, pauseS: pauseS >= 0 ? pauseS : 5 };
    } catch (error) {
      if (late.signal.aborted) throw this.#odd(path, `no whole answer within ${LONGEST_ANSWER_MS / 1000} s`);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  #parsed(path: string, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.#odd(path, "no JSON");
    }
  }

  #odd(path: string, what: string): Failure {
    return new Failure(
      `${this.url}${path.split("?")[0]} answered with ${what}, and nothing was changed. Check the address, and --api v1 or v2.`,
    );
  }
}

/** Endpoints, Pods and templates name registries and volumes, and endpoints of REST v1 name templates. */
function withReferred(only: readonly Kind[]): Set<Kind> {
  const refers = only.some((kind) => kind === "templates" || kind === "endpoints" || kind === "pods");
  return new Set([...only, ...(refers ? (["registries", "volumes", "templates"] as const) : [])]);
}

/** Variables name secrets that a list may not show, as with REST v1. */
function addNamedSecrets({ definitions }: Account): void {
  const known = new Set(definitions.filter(({ kind }) => kind === "secrets").map(({ name }) => name.toLowerCase()));
  const texts = definitions.flatMap(({ body }) => (isFields(body.env) ? Object.values(body.env).map(String) : []));
  const named: Definition[] = [];
  for (const name of secretsIn(texts)) {
    if (known.has(name.toLowerCase()) || name.length > 191) continue;
    known.add(name.toLowerCase());
    named.push({ kind: "secrets", id: name, name, body: { name } });
  }
  definitions.push(...named);
}
