/** Shows a file without running anything of it: text as text, and images as images of their bytes. */
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useEffect, useState } from "react";
import { addressOf, send } from "../../api/client.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { CopyButton, countText, Id, sizeText, When } from "../../design/facts.tsx";
import { Facts, Loaded } from "../../design/layout.tsx";
import { sayRefused } from "../../design/toast.tsx";
import { isImage, isText } from "./paths.ts";
import { saveFile } from "./save-file.ts";
import css from "./volumes.module.css";

const MOST_TEXT = 256 * 1024;
const MOST_IMAGE = 25 * 1024 * 1024;

interface PreviewProps {
  volume: string;
  file: VolumeFile | undefined;
  mayNot: string | undefined;
  onClose: () => void;
}

export function Preview({ volume, file, mayNot, onClose }: PreviewProps) {
  return (
    <Dialog isOpen={file !== undefined} onClose={onClose} title={file?.name ?? ""} isDrawer>
      {file && (
        <div className={css.preview}>
          <Facts
            rows={[
              ["Path", <Id key="path" value={file.path} />],
              ["Size", `${sizeText(file.size)} (${countText(file.size)} bytes)`],
              ["Changed", <When key="at" at={file.modifiedAt} />],
            ]}
          />
          <div>
            <Button icon={<Download />} refused={mayNot} onClick={() => void saveFile(volume, file).catch(sayRefused)}>
              Download
            </Button>
          </div>
          {mayNot ? <p className="quiet">{mayNot}</p> : <Contents volume={volume} file={file} />}
        </div>
      )}
    </Dialog>
  );
}

type Read =
  | { type: "text"; text: string; isCut: boolean }
  | { type: "image"; blob: Blob }
  | { type: "other"; why: string };

function Contents({ volume, file }: { volume: string; file: VolumeFile }) {
  const read = useQuery<Read, Refusal>({
    queryKey: ["preview", volume, file.path, file.etag],
    queryFn: ({ signal }) => contentsOf(volume, file, signal),
    staleTime: 60_000,
  });
  return (
    <Loaded read={read} lines={8}>
      {(found) => {
        if (found.type === "image") return <Picture blob={found.blob} name={file.name} />;
        if (found.type === "other") return <p className="quiet">{found.why}</p>;
        return (
          <div className={css.text}>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard too */}
            <pre tabIndex={0}>{found.text}</pre>
            <CopyButton text={found.text} label="Copy the text" />
            {found.isCut && <p className="quiet">Its first {sizeText(MOST_TEXT)}. Download it to see the rest.</p>}
          </div>
        );
      }}
    </Loaded>
  );
}

async function contentsOf(volume: string, { path, name, size }: VolumeFile, signal: AbortSignal): Promise<Read> {
  const address = addressOf("downloadVolumeFile", { params: { id: volume }, query: { path, preview: true } });
  if (isImage(name)) {
    if (size > MOST_IMAGE) return { type: "other", why: `Images above ${sizeText(MOST_IMAGE)} are not shown here.` };
    return { type: "image", blob: await (await send(address, { method: "GET", signal })).blob() };
  }
  if (size === 0) return { type: "other", why: "The file is empty." };
  const headers = { Range: `bytes=0-${MOST_TEXT - 1}` };
  const answer = await send(address, { method: "GET", headers, signal });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (!isText(bytes)) return { type: "other", why: "This is no text and no image. Download it to look into it." };
  return { type: "text", text: new TextDecoder().decode(bytes), isCut: size > MOST_TEXT };
}

/** The bytes as an image of their own. An image runs no scripts, whatever is in it. */
function Picture({ blob, name }: { blob: Blob; name: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url ? <img src={url} alt={name} className={css.picture} /> : null;
}
