/** Operations on the files of network volumes, for browsers and for whoever has no S3 client. */
import { MIB, type Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { t } from "../../kernel/schema.ts";
import {
  filePath,
  LONGEST_NAME,
  LONGEST_PATH,
  RemovedFiles,
  VolumeFile,
  VolumeFileLink,
  VolumeFileLinkRequest,
  VolumeFileMove,
  VolumeFolderRequest,
} from "./model.ts";

const FILES = "/v2/network-volumes/{id}/files";
/** Where links lead. It takes no key, and is in no document. */
export const FILE_LINK_PATH = `${FILES}/link`;
const CONTENT = `${FILES}/content`;
/** As S3 takes at once. */
const LARGEST_UPLOAD = 5 * 1024 * MIB;
/** A name of a file may have characters that take six others in a cursor. */
const LONGEST_CURSOR = 4096;

/** A key that reads volumes reads what is on record of them. Their contents, as over S3, are for keys that may write them. */
const reads = { tag: "Network volumes", narrowed: "refused", scope: "network-volumes:read" } as const;
const writes = { tag: "Network volumes", narrowed: "refused", scope: "network-volumes:write" } as const;
const changes = { ...writes, isOutside: true } as const;

export const volumeFileOperations = {
  listVolumeFiles: {
    ...reads,
    ...{ method: "GET", path: FILES, status: 200, summary: "List a folder of a network volume" },
    description:
      "In the order of the names' bytes, a folder's name counted with a slash behind it. Links, pipes and devices, and names that are no text, are left out.",
    query: t.Object({
      path: t.Optional(
        t.String({ maxLength: LONGEST_PATH, description: "The folder; without it, the top of the volume." }),
      ),
      prefix: t.Optional(t.String({ maxLength: LONGEST_NAME, description: "Names in the folder that begin so." })),
      ...pageQuery,
      cursor: t.Optional(
        t.String({
          minLength: 1,
          maxLength: LONGEST_CURSOR,
          description: "`pagination.nextCursor` of the page before.",
        }),
      ),
    }),
    out: t.Object({ files: t.Array(VolumeFile), pagination: Pagination }),
  },
  deleteVolumeFiles: {
    ...changes,
    ...{ method: "DELETE", path: FILES, status: 200, summary: "Delete a file or folder of a network volume" },
    description:
      "A folder that is not empty needs `recursive`. Then everything in it is deleted, including links but not their targets. " +
      "One call removes 10,000 of them at most.",
    query: t.Object({
      path: filePath("The file or folder."),
      recursive: t.Optional(
        t.Boolean({ default: false, description: "Whether a folder goes with all that it holds." }),
      ),
    }),
    out: RemovedFiles,
    refuses: ["wrong-state"],
  },
  createVolumeFolder: {
    ...changes,
    ...{ method: "POST", path: `${FILES}/folders`, status: 201, summary: "Make a folder on a network volume" },
    description: "One that is there already is no error.",
    in: VolumeFolderRequest,
    out: VolumeFile,
    refuses: ["name-taken"],
  },
  moveVolumeFile: {
    ...changes,
    ...{ method: "POST", path: `${FILES}/move`, status: 200, summary: "Move a file or folder of a network volume" },
    description: "Within the volume, and over nothing that is there.",
    in: VolumeFileMove,
    out: VolumeFile,
    refuses: ["name-taken"],
  },
  downloadVolumeFile: {
    ...writes,
    ...{ method: "GET", path: CONTENT, status: 200, summary: "Read a file of a network volume" },
    description:
      "As a download, or with `preview` for a browser to show: as an image where the name says that it is one, else as plain text. Either way no browser runs anything of it.",
    query: t.Object({
      path: filePath("The file."),
      preview: t.Optional(t.Boolean({ default: false, description: "To be shown, and not to be saved." })),
    }),
    bytes: "out",
  },
  createVolumeFileLink: {
    ...writes,
    ...{ method: "POST", path: `${FILES}/links`, status: 201, summary: "Make a link to a file of a network volume" },
    description:
      "A browser that downloads or shows a file by itself sends no key. The link is good for five minutes, and no longer than the key or session that it was made with.",
    in: VolumeFileLinkRequest,
    out: VolumeFileLink,
  },
  uploadVolumeFile: {
    ...changes,
    ...{ method: "PUT", path: CONTENT, status: 201, summary: "Write a file of a network volume" },
    description:
      "The body is the contents as they are, up to 5 GiB. The file is there at once and whole, or not at all, and takes the place of one that was there. Folders on the way are made.",
    query: t.Object({
      path: filePath("The file."),
      ifAbsent: t.Optional(t.Boolean({ default: false, description: "Refuses to take the place of anything." })),
    }),
    bytes: "in",
    bodyLimit: LARGEST_UPLOAD,
    out: VolumeFile,
    refuses: ["name-taken", "rule-broken"],
  },
} as const satisfies Operations;
