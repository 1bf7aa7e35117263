/** The buckets: network volumes by their ids, and the persistent mounts of Pods by the Pods' ids, running or not. */
import { persistentVolume } from "../../resources/pods/model.ts";
import type { PodRecords } from "../../resources/pods/records.ts";
import { filesOn, type VolumeStorage } from "../../resources/volume-files/storage.ts";
import type { VolumeRecords } from "../../resources/volumes/records.ts";
import type { BucketFinder } from "./buckets.ts";

const LISTED_AT_MOST = 10_000;

export const networkVolumeBuckets = ({ volumes }: VolumeRecords, storage: VolumeStorage): BucketFinder => ({
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

export const podBuckets = ({ pods }: PodRecords, storage: VolumeStorage): BucketFinder => ({
  async find(account, id) {
    const pod = await pods.get(id);
    const { mounts, last } = pod?.doc ?? {};
    // A Pod that never had a place has no files yet.
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

/** Listing buckets opens none of them. */
const UNASKED = { away: "This bucket was only listed." };
