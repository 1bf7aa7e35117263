/** Copies the files of a volume of the source that the volume here does not have yet, several at once. */
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { ApiClient } from "../api.ts";
import type { Progress } from "../copy.ts";
import { Refusal } from "../failure.ts";
import { type FileFact, isEqual, remoteFiles } from "../volume-paths.ts";
import { shown } from "./definition.ts";
import { type Bucket, NotGiven, objectsIn, openObject } from "./s3.ts";

const CONTENT = "/v2/network-volumes/{id}/files/content";
/** More at once would only share the same disk and line. */
const AT_ONCE = 4;
/** The API here takes no larger file at once. */
const LARGEST_BYTES = 5 * 1024 ** 3;
const NAMED_AT_MOST = 10;

export interface Difference {
  toCopy: FileFact[];
  equal: number;
  bytes: number;
}

/** `target` is the id of the volume here, where there is one yet. */
export async function filesToCopy(api: ApiClient, bucket: Bucket, target: string | undefined): Promise<Difference> {
  const there = new Map<string, FileFact>();
  if (target !== undefined) for await (const file of remoteFiles(api, target, "")) there.set(file.name, file);
  const found: Difference = { toCopy: [], equal: 0, bytes: 0 };
  for await (const file of objectsIn(bucket)) {
    if (isEqual(file, there.get(file.name))) {
      found.equal += 1;
      continue;
    }
    found.toCopy.push(file);
    found.bytes += file.size;
  }
  return found;
}

export interface CopiedFiles {
  copied: number;
  failed: number;
  /** The first of those that failed, each with its reason. */
  faults: string[];
}

interface Copying {
  api: ApiClient;
  bucket: Bucket;
  target: string;
  progress: Progress;
}

/** A file that cannot be copied does not keep the others back. A broken connection does. */
export async function copyFiles(copying: Copying, files: readonly FileFact[]): Promise<CopiedFiles> {
  const done: CopiedFiles = { copied: 0, failed: 0, faults: [] };
  const rest = files.values();
  const copyRest = async () => {
    for (const file of rest) {
      const fault = await copied(copying, file);
      if (fault === undefined) done.copied += 1;
      else done.failed += 1;
      if (fault !== undefined && done.faults.length < NAMED_AT_MOST) done.faults.push(`${shown(file.name)}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, copyRest));
  return done;
}

/** Resolves with the reason if the file cannot be copied. */
async function copied({ api, bucket, target, progress }: Copying, file: FileFact): Promise<string | undefined> {
  if (file.size > LARGEST_BYTES) return "it is larger than 5 GiB: copy it with an S3 client, which sends it in parts";
  const path = requestPath(CONTENT, { params: { id: target }, query: { path: file.name } });
  const body = await openObject(bucket, file).then((answer) => answer.body, faultOf);
  if (typeof body === "string") return body;
  body.on("data", (part: Buffer) => progress.count(part.length, shown(file.name)));
  const headers = { "content-length": file.size, "content-type": "application/octet-stream" };
  try {
    const answer = await api.send(path, { method: "PUT", headers, body, silenceMs: 0 });
    answer.body.resume();
    progress.done(shown(file.name));
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.status !== 401) return error.message;
    throw error;
  } finally {
    body.destroy();
  }
}

function faultOf(error: unknown): string {
  if (error instanceof NotGiven) return error.message;
  throw error;
}
