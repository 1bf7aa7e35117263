/** Saves a file of a volume on the person's machine. */
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";
import { call } from "../../api/client.ts";

/** A link carries its own right for a moment, so that the browser saves the file by itself, however large it is. */
export async function saveFile(volume: string, { path, name }: VolumeFile): Promise<void> {
  const { url } = await call("createVolumeFileLink", { params: { id: volume }, body: { path } });
  const { pathname, search } = new URL(url, location.origin);
  const link = document.createElement("a");
  // The public URL may be another name for the same server.
  link.href = pathname + search;
  link.download = name;
  link.click();
}
