/** How an operator's file changes our catalog, and which mistakes are reported. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { failures } from "../kernel/validate.ts";
import { catalogOf } from "../settings/operator-catalog.ts";
import standard from "./catalog.json" with { type: "json" };
import { catalogFrom, standardCatalog } from "./catalog.ts";
import {
  cpuPrice,
  gpuPrice,
  gpuShare,
  homeDataCenter,
  installCatalog,
  installedCatalog,
  isDataCenter,
  poolOfType,
  typesOfPool,
  volumeTypesOf,
} from "./compute.ts";
import { WrittenCatalog } from "./shape.ts";

const from = (file: object) => catalogFrom(JSON.stringify(file));

async function exampleIn(document: string): Promise<string> {
  const text = await readFile(new URL(`../../../docs/${document}`, import.meta.url), "utf8");
  return /```json\n([\s\S]*?)```/.exec(text)![1]!;
}

test("our own is in its shape", () => {
  expect(failures(WrittenCatalog, standard)).toEqual([]);
  expect(catalogFrom("{}")).toEqual(standardCatalog());
});

test("our data centers offer STANDARD volumes or none; one of which an operator says nothing offers both types", () => {
  expect([volumeTypesOf("US-KS-2"), volumeTypesOf("EU-RO-1")]).toEqual([["STANDARD"], ["STANDARD"]]);
  expect([volumeTypesOf("US-CA-1"), volumeTypesOf("MOON-1")]).toEqual([[], []]);
  const offering = [...standardCatalog().dataCenters.keys()].filter((id) => volumeTypesOf(id).length > 0);
  expect(offering).toHaveLength(26);
  const own = catalogFrom('{"dataCenters": {"EU-BER-1": {}}}').dataCenters.get("EU-BER-1");
  expect(own?.networkVolumeTypes).toEqual(["STANDARD", "HIGH_PERFORMANCE"]);
});

test("the smaller A100 is there, between the types beside it", () => {
  const [small, large] = ["NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"].map(
    (id) => standardCatalog().gpus.get(id)!,
  );
  expect(small).toMatchObject({ name: "A100 SXM 40GB", memory: 40, manufacturer: "NVIDIA", pool: null });
  expect(small!.price.secure).toBeLessThan(large!.price.secure);
  expect(typesOfPool("NVIDIA A100-SXM4-40GB")).toEqual(["NVIDIA A100-SXM4-40GB"]);
});

test("the example of the documentation works, and everybody reads it once it is installed", async () => {
  using _ = installCatalog(catalogFrom(await exampleIn("catalog.md")));
  expect([isDataCenter("EU-BER-1"), isDataCenter("US-KS-2"), homeDataCenter()]).toEqual([true, false, "EU-BER-1"]);
  expect([volumeTypesOf("EU-BER-1")[0], volumeTypesOf("EU-BER-2")]).toEqual(["HIGH_PERFORMANCE", ["STANDARD"]]);
  expect(typesOfPool("ADA_24")).toEqual(["NVIDIA GeForce RTX 4090", "NVIDIA TITAN RTX"]);
  expect([poolOfType("NVIDIA TITAN RTX"), poolOfType("AMD Instinct MI300X OAM")]).toEqual(["ADA_24", undefined]);
  expect(gpuPrice.pod("NVIDIA GeForce RTX 4090", "COMMUNITY")).toBe(0.1);
  expect([gpuPrice.pod("NVIDIA TITAN RTX", "COMMUNITY"), gpuPrice.worker("NVIDIA TITAN RTX")]).toEqual([0.15, 0.3]);
  expect(gpuShare("NVIDIA TITAN RTX")).toEqual({ vcpu: 8, memoryGb: 32 });
  expect([cpuPrice("cpu5c"), cpuPrice("cpu5c", "worker"), cpuPrice("cpu3c")]).toEqual([0.01, 0.01, 0.03]);
  expect(installedCatalog().storage).toMatchObject({ networkVolumePerGbMonth: 0.02, containerDiskPerGbMonth: 0.1 });
});

test("what was read before comes back when the installed one goes", () => {
  const before = installedCatalog().storage;
  installCatalog(from({ storage: { containerDiskPerGbMonth: 9 } }))[Symbol.dispose]();
  expect(installedCatalog().storage).toBe(before);
});

test("a worker of a pool without a price costs what its type costs, and a cloud that has none costs what the other does", () => {
  expect(gpuPrice.worker("NVIDIA GeForce RTX 5090")).toBe(0.99);
  expect(gpuPrice.pod("NVIDIA GeForce RTX 3070")).toBe(0.13);
});

test.each([
  [[], "$: must be object"],
  [{ replace: "gpus" }, "$.replace: must be a list of gpus, pools, cpus, dataCenters"],
  [{ replace: ["storage"] }, "$.replace: must be a list of gpus, pools, cpus, dataCenters"],
  [{ colours: {} }, "$: additional properties 'colours' not allowed"],
  [{ gpus: { New: { price: { secure: 1 } } } }, "$.gpus.New: property 'memory' is required"],
  [{ gpus: { New: { memory: 4, price: { secure: -1 } } } }, "$.gpus.New.price.secure: must be >= 0"],
  [{ gpus: { "NVIDIA L4": { memory: null } } }, `$.gpus["NVIDIA L4"]: property 'memory' is required`],
  [{ gpus: { "a,b": { memory: 4, price: { secure: 1 } } } }, "$.gpus: 'a,b' is no name for anything"],
  [{ gpus: { "NVIDIA L4": null } }, "$.pools.AMPERE_24.gpus: there is no GPU type 'NVIDIA L4'"],
  [{ pools: { MINE: { gpus: ["NVIDIA L4"] } } }, "$.pools.MINE.gpus: 'NVIDIA L4' stands in the pool AMPERE_24 already"],
  [{ replace: ["dataCenters"] }, "$.dataCenters: must have at least 1 property"],
  [{ dataCenters: { A: { region: "MOON" } } }, "$.dataCenters.A.region: must be one of NORTH_AMERICA, "],
  [{ dataCenters: { A: { networkVolumeTypes: ["FAST"] } } }, "$.dataCenters.A.networkVolumeTypes[0]: must be one of"],
  [{ cpus: { cpu3c: { vcpu: { min: 64 } } } }, "$.cpus.cpu3c.vcpu: 'min' is larger than 'max'"],
  [{ storage: null }, "$: property 'storage' is required"],
])("%j is refused: %s", (file, reason) => {
  expect(() => from(file)).toThrow(reason);
});

test("a file that cannot be read, or is wrong, is named with the setting", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-catalog-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "catalog.json");
  const open = () => catalogOf({ catalog: file, dataCenter: undefined });
  await expect(open()).rejects.toThrow(`MILLRACE_CATALOG ${file}: ENOENT`);
  await writeFile(file, '{"gpus": ');
  await expect(open()).rejects.toThrow(`MILLRACE_CATALOG ${file}: Unexpected end of JSON input`);
  await writeFile(file, '{"home": "EU-RO-1"}');
  expect((await open()).home).toBe("EU-RO-1");
});

test("the data center of a machine must be one of the catalog", async () => {
  const wrong = catalogOf({ catalog: undefined, dataCenter: "MOON-1" });
  await expect(wrong).rejects.toThrow("MILLRACE_DATA_CENTER must be a data center of the catalog, not 'MOON-1'");
  await expect(catalogOf({ catalog: undefined, dataCenter: "EU-RO-1" })).resolves.toBeDefined();
});
