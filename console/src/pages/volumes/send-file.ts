/** Sends and fetches the bytes of files, with progress: the only requests that are not JSON. */
import { addressOf } from "../../api/client.ts";
import { Refusal } from "../../api/refusal.ts";
import { sessionHeaders } from "../../api/session.ts";

interface Sending {
  volume: string;
  path: string;
  file: File;
  mayReplace: boolean;
  signal: AbortSignal;
  onProgress: (sent: number) => void;
}

/** A browser tells the progress of an upload by XMLHttpRequest alone. An abort leaves nothing behind on the volume. */
export function sendFile({ volume, path, file, mayReplace, signal, onProgress }: Sending): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const query = { path, ...(!mayReplace && { ifAbsent: true }) };
    request.open("PUT", addressOf("uploadVolumeFile", { params: { id: volume }, query }));
    for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => (request.status < 300 ? resolve() : void refusalOf(request).then(reject)));
    request.addEventListener("error", () => reject(Refusal.unreachable()));
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

function refusalOf(request: XMLHttpRequest): Promise<Refusal> {
  const code = request.getResponseHeader("X-Reason-Code");
  return Refusal.from(
    new Response(request.responseText, {
      status: request.status,
      statusText: request.statusText,
      headers: code === null ? {} : { "X-Reason-Code": code },
    }),
  );
}
