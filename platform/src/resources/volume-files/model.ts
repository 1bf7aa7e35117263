/** Files and folders of a network volume, as people see them in a listing. */
import { closed, dateTime, oneOf, type Static, t } from "../../kernel/schema.ts";

/** In bytes of UTF-8, as in S3. */
export const LONGEST_PATH = 1024;
export const LONGEST_NAME = 255;

export const filePath = (description: string) => t.String({ minLength: 1, maxLength: LONGEST_PATH, description });

export const VolumeFile = t.Object(
  {
    name: t.String({ description: "The last part of `path`." }),
    path: t.String({ description: "From the top of the volume down, with slashes between the names." }),
    kind: oneOf(["FILE", "FOLDER"]),
    size: t.Integer({ minimum: 0, description: "In bytes; 0 of a folder." }),
    modifiedAt: dateTime("When its contents were last changed, as programs say it."),
    etag: t.String({ description: "Another one whenever the contents are others. It is no digest of them." }),
  },
  { $id: "VolumeFile" },
);
export type VolumeFile = Static<typeof VolumeFile>;

export const VolumeFolderRequest = closed(
  { path: filePath("The new folder. Folders on the way are made too.") },
  { $id: "CreateVolumeFolderRequest" },
);

export const VolumeFileMove = closed(
  {
    from: filePath("The file or folder."),
    to: filePath("Its new path, at which nothing may be. Folders on the way are made."),
  },
  { $id: "MoveVolumeFileRequest" },
);

export const VolumeFileLinkRequest = closed(
  {
    path: filePath("The file."),
    preview: t.Optional(t.Boolean({ default: false, description: "To be shown, and not to be saved." })),
  },
  { $id: "CreateVolumeFileLinkRequest" },
);

export const VolumeFileLink = t.Object(
  {
    url: t.String({ description: "Where the file is read without any other credential." }),
    expiresAt: dateTime("Until when a download can begin with it."),
  },
  { $id: "VolumeFileLink" },
);

export const RemovedFiles = t.Object(
  {
    removed: t.Integer({ minimum: 0, description: "How many files and folders this call removed." }),
    isComplete: t.Boolean({ description: "Whether nothing is left at the path. If not, send the request again." }),
  },
  { $id: "RemovedVolumeFiles" },
);
