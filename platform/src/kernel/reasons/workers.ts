/** Reasons why workers end, rest or wait although nothing is wrong with them, and why jobs wait. */
import { after, type Entry, worded } from "./entry.ts";

const NOTHING = "Nothing.";

export const workerReasons = {
  idle: worded<{ seconds: number }>({
    means: "The worker was idle for the endpoint's idle timeout.",
    remedy: "Raise the idle timeout to keep workers longer.",
    text: ({ seconds }, about) => after(`idle for ${seconds} s`, about, ", and "),
  }),
  "new-release": worded<{ release: number }>({
    means: "The endpoint was changed, so workers of older releases end.",
    remedy: NOTHING,
    text: ({ release }) => `new release ${release}`,
  }),
  "too-many-workers": worded({
    means: "The endpoint has more workers than its maximum.",
    remedy: "Raise `workers.max` to keep more.",
    text: () => "more workers than the endpoint may have",
  }),
  "frozen-too-long": worded({
    means: "The worker was frozen for the longest allowed time without being needed.",
    remedy: NOTHING,
    text: () => "frozen for too long",
  }),
  "flashboot-off": worded({
    means: "FlashBoot of the endpoint was switched off, so frozen workers end.",
    remedy: NOTHING,
    text: () => "FlashBoot was switched off",
  }),
  "frozen-memory-full": worded<{ limitMb: number; heldMb?: number }>({
    means: "Frozen workers of the machine hold as much memory as allowed.",
    remedy: "Nothing. The operator can allow more.",
    text: ({ limitMb, heldMb }) =>
      `${heldMb === undefined ? "" : `it holds ${heldMb} MB, and `}frozen workers may hold ${limitMb} MB together`,
  }),
  "gives-room": worded({
    means: "A frozen worker ends because another one needs its room.",
    remedy: NOTHING,
    text: () => "another worker needs its room",
  }),
  "endpoint-deleted": worded({
    means: "The endpoint of the worker was deleted.",
    remedy: NOTHING,
    text: () => "its endpoint was deleted",
  }),
  "refresh-asked": worded({
    means: "The handler asked for a fresh worker after its job.",
    remedy: NOTHING,
    text: () => "its handler asked for a fresh worker",
  }),
  "account-change": worded({
    means: "The worker served another account, and its public endpoint gives each account workers of its own.",
    remedy: NOTHING,
    text: () => "it makes way for another account, which gets a fresh worker",
  }),
  "does-not-stop": worded({
    means: "The handler does not stop a job that the worker no longer holds.",
    remedy: "Make the handler stop when its job is cancelled.",
    text: () => "its handler does not stop a job that it no longer holds",
  }),
} as const satisfies Record<string, Entry>;

const LOOK = "Look at the log of the worker.";

export const waitReasons = {
  "workers-busy": worded<{ workers: number; max?: number }>({
    means: "All workers have jobs.",
    remedy: "Wait, or raise `workers.max`.",
    text: ({ workers, max }) =>
      `${workers === 1 ? "the only worker is" : `all ${workers} workers`} busy${max === undefined ? "" : ` (max ${max})`}`,
  }),
  "serves-others": worded<{ workers: number }>({
    means:
      "Each worker serves one account, and all of them serve others now. One is replaced for this account when its turn comes.",
    remedy: "Wait. The account that shares the endpoint can raise `workers.max`.",
    text: ({ workers }) =>
      `${workers === 1 ? "the only worker serves" : `all ${workers} workers serve`} other accounts; one is replaced when the turn comes`,
  }),
  "waits-for-ask": worded<{ idle: number; unknown: number }>({
    means: "A worker has no job and takes this one with its next request.",
    remedy: "Wait: it takes a moment.",
    text: ({ idle, unknown }) => `waiting for ${unknown === 0 ? idleOf(idle) : withoutJob(idle)} to ask for it`,
  }),
  "no-worker": worded({
    means: "No worker of the endpoint is connected, and none is being started.",
    remedy: "Start a worker, or raise `workers.max`.",
    text: () => "no worker is connected",
  }),
  paused: worded({
    means: "The `workers.max` of the endpoint is 0.",
    remedy: "Raise `workers.max` above 0.",
    text: () => "paused: max workers is 0",
  }),
  "low-priority": worded({
    means: "Only low-priority jobs wait, and those start no workers.",
    remedy: "Wait for a worker that another job starts, or send the job without low priority.",
    text: () => "low priority: it waits for a worker that another job starts",
  }),
  "older-release-busy": worded<{ workers: number; max: number }>({
    means: "Workers of an older release still have jobs, and the endpoint may have no more workers.",
    remedy: "Wait, or raise `workers.max`.",
    text: ({ workers, max }) => `${countOf(workers)} of an older release still busy (max ${max})`,
  }),
  "being-replaced": worded<{ workers: number; cause: string }>({
    means: "Workers are being replaced. The fact `cause` is the code of the reason.",
    remedy: "Wait.",
    text: ({ workers }, about) => `${countOf(workers)} ${workers === 1 ? "is" : "are"} being replaced (${about})`,
  }),
  "worker-failed": worded<{ cause: string }>({
    means: "The last worker failed, and Millrace starts another. The fact `cause` is the code of the failure.",
    remedy: LOOK,
    text: (_, about) => after("worker failed", about),
  }),
  "pulling-image": worded<{ image: string; progress?: string; seconds?: number } & Sizes>({
    means: "The machine is pulling the image. The facts `bytes` and `totalBytes` say how far it is.",
    remedy: "Wait. Smaller images take less time.",
    text: ({ image, progress, seconds, ...sizes }) => `pulling image ${image}: ${pullText(progress, seconds, sizes)}`,
  }),
  "registry-slow": worded<{ image: string; seconds: number } & Sizes>({
    means: "The machine is pulling the image, and its registry has sent nothing for some seconds.",
    remedy: "Wait. If it lasts, check the registry and the connection to it.",
    text: ({ image, seconds, ...sizes }) =>
      `pulling image ${image}: ${prefixed(sizesText(sizes), "; ")}the registry has sent nothing for ${seconds} s`,
  }),
  "worker-starting": worded<{ seconds: number }>({
    means: "A worker is being started.",
    remedy: `Wait. ${LOOK}`,
    text: ({ seconds }) => `worker starting (${seconds} s)`,
  }),
  "worker-warming-up": worded<{ seconds: number }>({
    means: "A worker is busy with its warm-up request.",
    remedy: `Wait. ${LOOK}`,
    text: ({ seconds }) => `worker warming up (${seconds} s)`,
  }),
} as const satisfies Record<string, Entry>;

/** How much of an image has arrived, and the total of its parts whose size is known. */
type Sizes = { bytes?: number; totalBytes?: number };

const MB = 1_000_000;

export const megabytes = (bytes: number) => `${Number((bytes / MB).toFixed(bytes < 10 * MB ? 1 : 0))} MB`;

/** Makes text such as `12 MB of 80 MB after 42 s`. */
function pullText(progress = "", seconds = 0, sizes: Sizes): string {
  const known = sizesText(sizes);
  if (known === undefined) return seconds > 0 ? `${progress} (${seconds} s)` : progress;
  return `${known} after ${seconds} s${progress && `, ${progress}`}`;
}

const prefixed = (text: string | undefined, between: string) => (text === undefined ? "" : `${text}${between}`);

const sizesText = ({ bytes, totalBytes }: Sizes) =>
  bytes === undefined || totalBytes === undefined ? undefined : `${megabytes(bytes)} of ${megabytes(totalBytes)}`;

const idleOf = (count: number) => (count === 1 ? "the idle worker" : `one of ${count} idle workers`);

/** Used when some of these workers are on another node: only that node knows whether they are idle. */
const withoutJob = (count: number) =>
  count === 1 ? "the worker without a job" : `one of ${count} workers without a job`;

export const countOf = (workers: number) => `${workers} ${workers === 1 ? "worker" : "workers"}`;
