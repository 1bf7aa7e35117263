/** Images of the form `host` and `host:/abs/dir`: a folder of this machine that is run in place. */
import { isAbsolute, relative } from "node:path";
import { StartRefused } from "../../ports/compute/compute.ts";

const PREFIX = "host:";

/** The folder that an image names, exactly as written; undefined for `host` alone. */
export function folderIn(image: string): string | undefined {
  if (image === "host") return undefined;
  if (!image.startsWith(PREFIX))
    throw new StartRefused(`'${image}' is a container image: install Docker or Podman to run it, or use host:/folder`, {
      reason: "image-unsupported",
    });
  const folder = image.slice(PREFIX.length);
  if (!isAbsolute(folder))
    throw new StartRefused(`'${image}' names no folder: write host: and an absolute path`, { reason: "image-invalid" });
  return folder;
}

export const isInside = (path: string, folder: string) => {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../");
};
