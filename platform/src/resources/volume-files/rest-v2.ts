/** Files of network volumes as REST v2 shows them. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { etagOf } from "../../ports/files/files.ts";
import type { VolumeFile } from "./model.ts";
import type { volumeFileOperations } from "./operations.ts";
import type { FileItem, VolumeFileService } from "./service.ts";

export const volumeFileHandlers = (files: VolumeFileService): Handlers<typeof volumeFileOperations> => ({
  listVolumeFiles: ({ caller, params, query }) => {
    const { path, prefix } = query;
    return paged(
      "files",
      { ...query, volume: params.id },
      async ({ after, limit }) => {
        const { items, next } = await files.list(caller, params.id!, { path, prefix, after: after?.id, limit });
        // A page ends at a name, and no time has anything to do with it.
        return { items, next: next === undefined ? undefined : { createdAt: 0, id: next } };
      },
      shown,
    );
  },
  createVolumeFolder: async ({ caller, params, body, begin }) =>
    shown(await files.makeFolder(caller, params.id!, body.path, begin)),
  moveVolumeFile: async ({ caller, params, body, begin }) => shown(await files.move(caller, params.id!, body, begin)),
  deleteVolumeFiles: async ({ caller, params, query, begin }) => {
    const { count, isWhole } = await files.remove(caller, params.id!, query, begin);
    return { removed: count, isComplete: isWhole };
  },
  createVolumeFileLink: async ({ caller, params, body }) => {
    const { url, expiresAt } = await files.link(caller, params.id!, body);
    return { url, expiresAt: timestamp(expiresAt) };
  },
  downloadVolumeFile: ({ caller, params, query }) => files.read(caller, params.id!, query),
  uploadVolumeFile: async ({ caller, params, query, incoming, begin }) =>
    shown(await files.write(caller, params.id!, query, { incoming, begin })),
});

const shown = ({ path, facts }: FileItem): VolumeFile => ({
  name: path.at(-1) ?? "",
  path: path.join("/"),
  kind: facts.kind === "folder" ? "FOLDER" : "FILE",
  size: facts.size,
  modifiedAt: timestamp(facts.modifiedAt),
  etag: etagOf(facts),
});
