/** Prices that an operator sets while servers run, over those of the catalog's files. */
import type { Catalog } from "./catalog.ts";

/** One price of a GPU type, a pool, a CPU flavor or storage. Null restores the price of the files. */
export type PriceSet = {
  section: "gpus" | "pools" | "cpus" | "storage";
  /** The id of the type, pool or flavor. Storage has only one. */
  id: string;
  name: string;
  price: number | null;
};

/** No price per hour, or per GB and month, is higher than this. */
const MOST = 1_000_000;
/** The names under which prices are set, and where they differ, those in the catalog. */
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

/** Returns the catalog with these prices. Prices of entries that a file has since removed are ignored. */
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

/** The last change of each price wins. */
export function merged(before: readonly PriceSet[], after: readonly PriceSet[]): PriceSet[] {
  const all = [...before, ...after].map((set) => [`${set.section} ${set.id} ${set.name}`, set] as const);
  return [...new Map(all).values()];
}

/** Parses `secure=0.5,serverless=0.6` for a GPU type, a pool, a CPU flavor or `storage`. Throws what is wrong with it. */
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

/** The same for prices that are numbers already; null restores the price of the files. */
export function priceSetsOf(catalog: Catalog, what: string, prices: Readonly<Record<string, number | null>>) {
  const text = Object.entries(prices).map(([name, price]) => `${name}=${price === null ? "catalog" : plain(price)}`);
  return priceSetsFrom(catalog, what, text.join(","));
}

/** Without an exponent. */
const plain = (price: number) => price.toFixed(9).replace(/\.?0+$/, "");

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

/** The prices of something, by the names under which they are set. */
function pricesOf(catalog: Catalog, what: string): Named {
  if (what === "storage")
    return Object.fromEntries(STORAGE_PRICES.map((name) => [name, { section: "storage", id: what, name }]));
  const gpu = catalog.gpus.get(what);
  if (gpu) {
    const own = GPU_PRICES.map((name) => [name, { section: "gpus", id: what, name }]);
    // Workers are priced by pool. Workers of a type that is in no pool cost the same as Pods.
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
