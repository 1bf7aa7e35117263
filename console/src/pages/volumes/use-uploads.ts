/** Runs the uploads of a page, a few at a time, and can cancel each of them. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer, useRef } from "react";
import { Refusal } from "../../api/refusal.ts";
import { sendFile } from "./send-file.ts";
import { isUnderWay, moved, nextOf, type Upload } from "./uploads.ts";

export interface Uploads {
  uploads: readonly Upload[];
  add: (uploads: readonly Pick<Upload, "path" | "file">[]) => void;
  cancel: (path: string) => void;
  again: (path: string, mayReplace: boolean) => void;
  clear: () => void;
}

export function useUploads(volume: string): Uploads {
  const cache = useQueryClient();
  const [uploads, move] = useReducer(moved, []);
  const running = useRef(new Map<string, AbortController>());

  useEffect(() => {
    for (const { path, file, mayReplace = false } of nextOf(uploads)) {
      if (running.current.has(path)) continue;
      const control = new AbortController();
      running.current.set(path, control);
      move({ type: "begin", path });
      const onProgress = (sent: number) => move({ type: "progress", path, sent });
      void sendFile({ volume, path, file, mayReplace, signal: control.signal, onProgress })
        .then(
          () => move({ type: "done", path }),
          (error: unknown) =>
            move(
              control.signal.aborted
                ? { type: "cancelled", path }
                : { type: "failed", path, refusal: error instanceof Refusal ? error : Refusal.unreachable() },
            ),
        )
        .finally(() => {
          running.current.delete(path);
          return cache.invalidateQueries({ queryKey: ["listVolumeFiles"] });
        });
    }
  }, [uploads, volume, cache]);
  // Who leaves the page gives up what is under way.
  useEffect(() => {
    const controls = running.current;
    return () => {
      for (const control of controls.values()) control.abort();
    };
  }, []);
  useLeaveWarning(uploads.some(isUnderWay));

  return {
    uploads,
    add: (added) => move({ type: "add", uploads: added }),
    cancel: (path) => {
      running.current.get(path)?.abort();
      move({ type: "cancelled", path });
    },
    again: (path, mayReplace) => move({ type: "again", path, mayReplace }),
    clear: () => move({ type: "clear" }),
  };
}

/** The browser asks before a tab is closed that is still sending. */
function useLeaveWarning(isBusy: boolean): void {
  useEffect(() => {
    if (!isBusy) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isBusy]);
}
