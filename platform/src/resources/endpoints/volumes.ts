/** The network volumes of an endpoint, of which each worker mounts the one in its data center, and its models. */
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptEndpoint, PlacedVolume } from "./model.ts";

/** The path at which a worker sees its volume. */
export const WORKER_VOLUME_PATH = "/runpod-volume";

type Mounting = Pick<KeptEndpoint, "dataCenterIds" | "volumePlaces">;

/** Refuses two volumes in one data center, and volumes in a data center where no worker may run. */
export function refuseVolumes({ dataCenterIds, volumePlaces = [] }: Mounting): void {
  for (const [index, { id, dataCenter }] of volumePlaces.entries()) {
    if (dataCenterIds.length > 0 && !dataCenterIds.includes(dataCenter)) {
      const why = `Network volume '${id}' is in '${dataCenter}', which is not one of 'dataCenterIds'`;
      throw problem("rule-broken", `${why}: name it there too, or none.`);
    }
    const other = volumePlaces.slice(0, index).find((one) => one.dataCenter === dataCenter);
    if (other) {
      const both = `Network volumes '${other.id}' and '${id}' are both in '${dataCenter}'`;
      throw problem("rule-broken", `${both}: an endpoint has one in each data center.`);
    }
  }
}

/** A key that is narrowed to some endpoints must not get at the files of others. */
export function refuseNewVolumes(
  { endpoints }: Caller,
  before: KeptEndpoint,
  networkVolumes: readonly string[] = [],
): void {
  if (!endpoints || networkVolumes.every((id) => before.networkVolumes.includes(id))) return;
  throw problem(
    "not-allowed",
    "This API key is narrowed to some endpoints, and cannot give them a network volume that they do not have.",
  );
}

/** The volume for a worker in this data center. */
export const volumeIn = ({ volumePlaces = [] }: Mounting, dataCenter: string | null): PlacedVolume | undefined =>
  volumePlaces.find((volume) => volume.dataCenter === dataCenter);

/** Models that are named already stay named, even if they are gone or the account may no longer use them. */
export const newModels = ({ modelReferences: before = [] }: KeptEndpoint, named: readonly string[] = []) =>
  named.every((one) => before.includes(one)) ? [] : named;

/** A key that is narrowed to some endpoints must not get at the models that others have. */
export function refuseNewModels(
  { endpoints }: Caller,
  before: KeptEndpoint,
  modelReferences: readonly string[] = [],
): void {
  if (!endpoints || newModels(before, modelReferences).length === 0) return;
  throw problem(
    "not-allowed",
    "This API key is narrowed to some endpoints, and cannot give them a model that they do not have.",
  );
}
