/** The catalog of this installation: ours with the changes of the operator's file, checked against the other settings. */
import { readFile } from "node:fs/promises";
import { type Catalog, catalogFrom, standardCatalog } from "../catalog/catalog.ts";
import { installCatalog } from "../catalog/compute.ts";
import type { Settings } from "./settings.ts";

/** Installs the catalog of an installation for a server. Disposing restores ours. */
export async function readCatalog(settings: Settings): Promise<Disposable> {
  return installCatalog(await catalogOf(settings));
}

export async function catalogOf({
  catalog: file,
  dataCenter,
}: Pick<Settings, "catalog" | "dataCenter">): Promise<Catalog> {
  const catalog = file === undefined ? standardCatalog() : await catalogIn(file);
  if (dataCenter !== undefined && !catalog.dataCenters.has(dataCenter))
    throw new Error(`MILLRACE_DATA_CENTER must be a data center of the catalog, not '${dataCenter}'`);
  return catalog;
}

async function catalogIn(file: string): Promise<Catalog> {
  try {
    return catalogFrom(await readFile(file, "utf8"));
  } catch (error) {
    throw new Error(`MILLRACE_CATALOG ${file}: ${(error as Error).message}`, { cause: error });
  }
}
