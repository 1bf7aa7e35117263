/** The catalog of this installation: ours, with what the operator's file changes, and checked against what else the settings say of it. */
import { readFile } from "node:fs/promises";
import { type Catalog, catalogFrom, standardCatalog } from "./catalog/catalog.ts";
import type { Settings } from "./settings.ts";

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
