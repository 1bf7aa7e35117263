/** The catalog: GPU types and their pools, CPU flavors, data centers and prices, from our defaults and an operator's changes. */
import { failures } from "../kernel/validate.ts";
import standard from "./catalog.json" with { type: "json" };
import { WrittenCatalog, type WrittenCpu, type WrittenDataCenter, type WrittenGpu } from "./shape.ts";
import { type VolumeType, volumeTypes } from "./words.ts";

/** Prices are USD per hour and GPU. */
export interface GpuType extends Pick<WrittenGpu, "memory"> {
  id: string;
  name: string;
  manufacturer: NonNullable<WrittenGpu["manufacturer"]>;
  /** The pool that contains it, or null for a type that is a pool of its own. */
  pool: string | null;
  secure: boolean;
  community: boolean;
  price: Required<Pick<WrittenGpu["price"], "secure" | "community" | "cluster">> & WrittenGpu["price"];
  maxCount: { secure: number; community: number };
  /** The share of its machine that goes with one GPU. */
  share: { vcpu: number; memoryGb: number };
}

export interface CpuFlavor {
  id: string;
  name: string;
  group: string;
  minVcpu: number;
  maxVcpu: number;
  ramGbPerVcpu: number;
  diskGbPerVcpu: number;
  /** USD per hour and vCPU, including memory. */
  price: Required<WrittenCpu["price"]>;
}

export interface DataCenter {
  id: string;
  name: string;
  /** Two letters. Absent if unknown. */
  country?: string;
  region: NonNullable<WrittenDataCenter["region"]>;
  globalNetwork: boolean;
  /** The types that it offers, the primary one first. */
  networkVolumeTypes: readonly VolumeType[];
  compliance: NonNullable<WrittenDataCenter["compliance"]>;
}

export interface Pool {
  id: string;
  /** The types in the order in which they are tried. */
  gpus: readonly string[];
  /** USD per hour and GPU of a worker. If absent, the price of the type applies. */
  price?: number;
}

export interface Catalog {
  gpus: ReadonlyMap<string, GpuType>;
  pools: ReadonlyMap<string, Pool>;
  cpus: ReadonlyMap<string, CpuFlavor>;
  dataCenters: ReadonlyMap<string, DataCenter>;
  /** The data center of an instance that may be anywhere, on a machine that counts for all of them. */
  home: string;
  storage: WrittenCatalog["storage"];
}

/** Sections that an operator's file may replace as a whole. */
const SECTIONS = ["gpus", "pools", "cpus", "dataCenters"] as const;

const MOST_GPUS = 8;
const SOME_SHARE = { vcpu: 8, memory: 32 };
const SOME_DISK_GB = 10;

/** Our own catalog. It is not validated at every start, because a test does that. */
export const standardCatalog = (): Catalog => completed(standard as WrittenCatalog);

/** Applies an operator's file to our catalog. `null` removes an entry. Throws what is wrong, with its path. */
export function catalogFrom(text: string): Catalog {
  const { replace = [], ...changes } = objectIn(text);
  const kept = Object.fromEntries(
    Object.entries(standard).map(([name, section]) => [name, replacedIn(replace).includes(name) ? {} : section]),
  );
  const written = merged(kept, changes);
  refuse(failures(WrittenCatalog, written));
  return completed(written as WrittenCatalog);
}

function objectIn(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("$: must be object");
  return value as Record<string, unknown>;
}

function replacedIn(replace: unknown): readonly string[] {
  const isKnown = Array.isArray(replace) && replace.every((name) => SECTIONS.includes(name));
  if (!isKnown) throw new Error(`$.replace: must be a list of ${SECTIONS.join(", ")}`);
  return replace;
}

/** Merges as RFC 7396 does: objects member by member, `null` removes, and any other value replaces the old one. */
function merged(before: unknown, change: unknown): unknown {
  if (!isObject(change)) return change;
  const known = isObject(before) ? before : {};
  const names = [...new Set([...Object.keys(known), ...Object.keys(change)])].filter((name) => change[name] !== null);
  return Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(change, name) ? merged(known[name], change[name]) : known[name]]),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function completed(written: WrittenCatalog): Catalog {
  const { gpus, pools, cpus, dataCenters, storage } = written;
  refuse(mistakesIn(written));
  const poolOf = new Map(Object.entries(pools).flatMap(([pool, { gpus }]) => gpus.map((type) => [type, pool])));
  return {
    gpus: listed(gpus, (gpu, id) => gpuType(gpu, id, poolOf.get(id) ?? null)),
    pools: listed(pools, (pool, id) => ({ id, ...pool })),
    cpus: listed(cpus, cpuFlavor),
    dataCenters: listed(dataCenters, dataCenter),
    home: written.home !== undefined && written.home in dataCenters ? written.home : Object.keys(dataCenters)[0]!,
    storage,
  };
}

/** Finds mistakes that a schema cannot express. */
function mistakesIn({ gpus, pools, cpus, dataCenters }: WrittenCatalog): string[] {
  const seen = new Map<string, string>();
  const ofPools = Object.entries(pools).flatMap(([pool, { gpus: types }]) =>
    types.flatMap((type) => {
      const other = seen.get(type);
      seen.set(type, pool);
      if (!Object.hasOwn(gpus, type)) return [`$.pools.${pool}.gpus: there is no GPU type '${type}'`];
      return other === undefined ? [] : [`$.pools.${pool}.gpus: '${type}' stands in the pool ${other} already`];
    }),
  );
  const ofCpus = Object.entries(cpus).flatMap(([id, { vcpu }]) =>
    vcpu.min > vcpu.max ? [`$.cpus.${id}.vcpu: 'min' is larger than 'max'`] : [],
  );
  const ids = Object.entries({ gpus, pools, cpus, dataCenters }).flatMap(([section, entries]) =>
    Object.keys(entries)
      .filter((id) => !ID.test(id))
      .map((id) => `$.${section}: '${id.slice(0, 100)}' is no name for anything`),
  );
  return [...ids, ...ofPools, ...ofCpus];
}

/** For example `NVIDIA GeForce RTX 4090` or `US-KS-2`. A comma is not allowed, because it separates names in lists. */
const ID = /^[A-Za-z0-9][\w .()/+-]{0,190}$/;

function gpuType(gpu: WrittenGpu, id: string, pool: string | null): GpuType {
  const { name = id, manufacturer = "UNKNOWN", memory, secure = true, community = true, price } = gpu;
  const { vcpu, memory: memoryGb } = gpu.share ?? SOME_SHARE;
  return {
    ...{ id, name, manufacturer, memory, pool, secure, community },
    price: { community: price.secure, cluster: price.secure, ...price },
    maxCount: { secure: secure ? MOST_GPUS : 0, community: community ? MOST_GPUS : 0, ...gpu.maxCount },
    share: { vcpu, memoryGb },
  };
}

function cpuFlavor(cpu: WrittenCpu, id: string): CpuFlavor {
  const { name = id, group = id, vcpu, ramGbPerVcpu, diskGbPerVcpu = SOME_DISK_GB, price } = cpu;
  const sizes = { minVcpu: vcpu.min, maxVcpu: vcpu.max, ramGbPerVcpu, diskGbPerVcpu };
  return { id, name, group, ...sizes, price: { serverlessPerVcpu: price.securePerVcpu, ...price } };
}

function dataCenter(given: WrittenDataCenter, id: string): DataCenter {
  const defaults = {
    region: "UNKNOWN" as const,
    globalNetwork: false,
    networkVolumeTypes: volumeTypes,
    compliance: [],
  };
  return { id, name: id, ...defaults, ...given };
}

const listed = <W, T>(entries: Record<string, W>, made: (entry: W, id: string) => T): Map<string, T> =>
  new Map(Object.entries(entries).map(([id, entry]) => [id, made(entry, id)]));

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw new Error(errors.join("; "));
}
