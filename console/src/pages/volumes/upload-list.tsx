/** The uploads of a page: how far each is, and what to do with those that were refused. */
import { X } from "lucide-react";
import { Button, IconButton } from "../../design/button.tsx";
import { sizeText } from "../../design/facts.tsx";
import { Panel } from "../../design/layout.tsx";
import { isUnderWay, shareOf, type Upload } from "./uploads.ts";
import type { Uploads } from "./use-uploads.ts";
import css from "./volumes.module.css";

const WORDS: Record<Upload["state"], string> = {
  waiting: "Waits",
  sending: "Sending",
  done: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function UploadList({ uploads, cancel, again, clear }: Uploads) {
  if (uploads.length === 0) return null;
  const left = uploads.filter(isUnderWay).length;
  const title = left > 0 ? `Uploading ${left} of ${uploads.length}` : "Uploads";
  return (
    <Panel
      title={title}
      about={`${Math.round(shareOf(uploads) * 100)} % sent`}
      actions={
        <Button size="small" kind="quiet" onClick={clear} refused={left === uploads.length && "All are under way"}>
          Clear the list
        </Button>
      }
    >
      <ul className={css.uploads}>
        {uploads.map((upload) => (
          <Line key={upload.path} upload={upload} cancel={cancel} again={again} />
        ))}
      </ul>
    </Panel>
  );
}

function Line({ upload, cancel, again }: { upload: Upload } & Pick<Uploads, "cancel" | "again">) {
  const { path, file, sent, state, refusal } = upload;
  return (
    <li>
      <span className={css.uploadName} title={path}>
        {path}
      </span>
      <progress
        max={Math.max(1, file.size)}
        value={state === "done" ? Math.max(1, file.size) : sent}
        aria-label={`Sent of ${path}`}
      />
      <span className="numbers quiet">
        {WORDS[state]}, {sizeText(file.size)}
      </span>
      {isUnderWay(upload) && (
        <IconButton label={`Cancel ${path}`} size="small" icon={<X />} onClick={() => cancel(path)} />
      )}
      {(state === "failed" || state === "cancelled") && (
        <span className={css.uploadActions}>
          {refusal?.status === 409 ? (
            <Button size="small" onClick={() => again(path, true)}>
              Replace what is there
            </Button>
          ) : (
            <Button size="small" onClick={() => again(path, false)}>
              Try again
            </Button>
          )}
        </span>
      )}
      {state === "failed" && refusal && <span className={css.uploadFault}>{refusal.message}</span>}
    </li>
  );
}
