/** The buckets there are: network volumes by their ids, and what Pods keep on their machine by the ids of the Pods, running or not. */
import type { Files } from "../../ports/files/files.ts";
import { persistentVolume } from "../../resources/pods/model.ts";
import type { PodRecords } from "../../resources/pods/records.ts";
import type { VolumeRecords } from "../../resources/volumes/records.ts";
import type { Bucket, BucketFinder } from "./buckets.ts";

export interface Storage {
  /** The files of a volume on a machine of this node, or, with null, on storage that its machines share; undefined where there is none with this id. */
  files(volume: string, machine: string | null): Promise<Files | undefined>;
  /** Machines of this node. */
  own: readonly string[];
  /** The node that runs a machine, and where it is reached, for people. */
  nodeOf(machine: string): Promise<string | undefined>;
}

const LISTED_AT_MOST = 10_000;

export const networkVolumeBuckets = ({ volumes }: VolumeRecords, storage: Storage): BucketFinder => ({
  async find(account, id) {
    const item = await volumes.get(id);
    if (item?.account !== account) return undefined;
    const { dataCenter: region, machine } = item.doc;
    return { id, region, createdAt: item.createdAt, files: await filesOn(storage, machine, id) };
  },
  async list(account) {
    const items = await volumes.list({ account, limit: LISTED_AT_MOST });
    return items.map(({ id, createdAt, doc }) => ({ id, createdAt, region: doc.dataCenter, files: UNASKED }));
  },
});

export const podBuckets = ({ pods }: PodRecords, storage: Storage): BucketFinder => ({
  async find(account, id) {
    const pod = await pods.get(id);
    const { mounts, last } = pod?.doc ?? {};
    // One that never had a place has nothing there yet.
    if (pod?.account !== account || !mounts?.persistent || !last) return undefined;
    const files = await filesOn(storage, last.machine, persistentVolume(id));
    return { id, region: last.dataCenter, createdAt: pod.createdAt, files };
  },
  async list(account) {
    const all = await pods.list({ account, limit: LISTED_AT_MOST });
    return all.flatMap(({ id, createdAt, doc: { mounts, last } }) =>
      mounts.persistent && last ? [{ id, createdAt, region: last.dataCenter, files: UNASKED }] : [],
    );
  },
});

/** A list of buckets opens none of them. */
const UNASKED = { away: "This bucket was only listed." };

async function filesOn(storage: Storage, machine: string | null, volume: string): Promise<Bucket["files"]> {
  if (machine !== null && !storage.own.includes(machine)) {
    const node = await storage.nodeOf(machine);
    return { away: `The volume is on machine ${machine}${node ? ` of node ${node}` : ""}: send the request there.` };
  }
  const files = await storage.files(volume, machine);
  return files ?? { away: `Volume ${volume} is not on this server's machine, or not made yet; try again in a moment.` };
}
