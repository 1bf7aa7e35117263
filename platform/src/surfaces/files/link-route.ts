/** The route that a link to a file of a volume leads to: it takes no key, since the link says who made it. */
import { requireOperation } from "../../guards/scopes.ts";
import type { FileLink, FileLinks } from "../../resources/volume-files/links.ts";
import { FILE_LINK_PATH, volumeFileOperations } from "../../resources/volume-files/operations.ts";
import type { VolumeFileService } from "../../resources/volume-files/service.ts";
import { sendBytes } from "../http/bytes.ts";
import { type Pipeline, searchOf } from "../http/pipeline.ts";
import type { Router } from "../http/router.ts";
import type { Surface } from "../http/surface.ts";

export interface FileLinkRouteParts {
  pipeline: Pipeline;
  surface: Surface;
  fileLinks: FileLinks;
  volumeFiles: VolumeFileService;
}

export function mountFileLinks(
  router: Router,
  { pipeline, surface, fileLinks, volumeFiles }: FileLinkRouteParts,
): void {
  router.add(["GET"], FILE_LINK_PATH, (request, reply, { id = "" }) => {
    const search = searchOf(request);
    const link = linkIn(id, search);
    const byLink: Surface = {
      ...surface,
      authenticate: () => fileLinks.callerOf(link, search.get("signature") ?? ""),
    };
    return pipeline.answer(byLink, request, reply, async (caller) => {
      requireOperation(caller, volumeFileOperations.downloadVolumeFile);
      return sendBytes(request, reply, await volumeFiles.read(caller, link.volume, link));
    });
  });
  pipeline.refuseOthers(router, surface, [{ path: FILE_LINK_PATH, methods: ["GET"] }]);
}

const linkIn = (volume: string, search: URLSearchParams): FileLink => ({
  volume,
  path: search.get("path") ?? "",
  preview: search.get("preview") === "true",
  key: search.get("key") ?? "",
  expiresAt: Number(search.get("expires") ?? 0),
});
