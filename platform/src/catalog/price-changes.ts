/** Prices that an operator sets while servers run, over those of the catalog's files. */
import type { Catalog } from "./catalog.ts";

/** One price of a GPU type, a pool, a CPU flavor or of storage; null for that of the files again. */
export type PriceSet = {
  section: "gpus" | "pools" | "cpus" | "storage";
  /** Of the type, pool or flavor; of storage there is one. */
  id: string;
  name: string;
  price: number | null;
};

/** Nothing here costs more by the hour, or by the GB and month. */
const MOST = 1_000_000;
/** Names of prices as they are set, and as the catalog keeps them. */
const GPU_PRICES = ["secure", "community", "cluster", "secureSpot", "communitySpot"] as const;
const CPU_PRICES = { pod: "securePerVcpu", serverless: "serverlessPerVcpu" } as const;
const STORAGE_PRICES = [
  "containerDiskPerGbMonth",
  "containerDiskStoppedPerGbMonth",
  "persistentRunningPerGbMonth",
  "persistentStoppedPerGbMonth",
  "networkVolumePerGbMonth",
  "networkVolumeBeyondTbPerGbMonth",
  "highPerformanceVolumePerGbMonth",
] as const;

/** The catalog with these prices. What it does not know, since a file changed, is left out. */
export function repriced(catalog: Catalog, sets: readonly PriceSet[]): Catalog {
  const gpus = new Map(catalog.gpus);
  const pools = new Map(catalog.pools);
  const cpus = new Map(catalog.cpus);
  let storage = catalog.storage;
  for (const { section, id, name, price } of sets) {
    if (price === null) continue;
    const [gpu, pool, cpu] = [gpus.get(id), pools.get(id), cpus.get(id)];
    if (section === "gpus" && gpu) gpus.set(id, { ...gpu, price: { ...gpu.price, [name]: price } });
    if (section === "pools" && pool) pools.set(id, { ...pool, price });
    if (section === "cpus" && cpu) cpus.set(id, { ...cpu, price: { ...cpu.price, [name]: price } });
    if (section === "storage") storage = { ...storage, [name]: price };
  }
  return { ...catalog, gpus, pools, cpus, storage };
}

/** The last word on each price. */
export function merged(before: readonly PriceSet[], after: readonly PriceSet[]): PriceSet[] {
  const all = [...before, ...after].map((set) => [`${set.section} ${set.id} ${set.name}`, set] as const);
  return [...new Map(all).values()];
}

/** What `secure=0.5,serverless=0.6` says of a GPU type, a pool, a CPU flavor or `storage`; throws what is wrong with it. */
export function priceSetsFrom(catalog: Catalog, what: string, text: string): PriceSet[] {
  const known = pricesOf(catalog, what);
  const names = Object.keys(known).join(", ");
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length === 0) throw new Error(`say which price: ${names}`);
  return parts.map((part) => {
    const [name = "", value = ""] = part.split("=").map((side) => side.trim());
    const set = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!set) throw new Error(`'${what}' has no price '${name.slice(0, 50)}'; it has ${names}`);
    return { ...set, price: priceIn(name, value) };
  });
}

function priceIn(name: string, text: string): number | null {
  if (text === "catalog") return null;
  const price = /^\d{1,7}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(price <= MOST))
    throw new Error(
      `${name} must be USD from 0 to ${MOST} with at most 9 decimals, or 'catalog' for that of the files`,
    );
  return price;
}

type Named = Record<string, Omit<PriceSet, "price">>;

/** The prices that something has, by the names under which they are set. */
function pricesOf(catalog: Catalog, what: string): Named {
  if (what === "storage")
    return Object.fromEntries(STORAGE_PRICES.map((name) => [name, { section: "storage", id: what, name }]));
  const gpu = catalog.gpus.get(what);
  if (gpu) {
    const own = GPU_PRICES.map((name) => [name, { section: "gpus", id: what, name }]);
    // Workers are priced by pool; those of a type that stands in none cost what Pods do.
    const pooled = gpu.pool === null ? [] : [["serverless", poolPrice(gpu.pool)]];
    return Object.fromEntries([...own, ...pooled]) as Named;
  }
  if (catalog.pools.has(what)) return { serverless: poolPrice(what) };
  if (catalog.cpus.has(what))
    return Object.fromEntries(
      Object.entries(CPU_PRICES).map(([said, name]) => [said, { section: "cpus", id: what, name }]),
    );
  throw new Error(
    `the catalog has no GPU type, pool or CPU flavor '${what.slice(0, 100)}' ('storage' is the other word; where the server has MILLRACE_CATALOG, ` +
      "this command needs it too)",
  );
}

const poolPrice = (id: string) => ({ section: "pools", id, name: "price" }) as const;
