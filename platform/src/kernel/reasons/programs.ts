/** Reasons of programs that ended, hang or never started working. Only a program's account may see what the program said. */
import { after, type Entry, worded } from "./entry.ts";

const LOOK_AT_LOG = "Look at the log of the program.";

/** An entry whose sentence says how the program ended, such as `exit 7`. */
const ended = (means: string, remedy: string) => worded<{ how: string }>({ means, remedy, text: ({ how }) => how });

export const programReasons = {
  "program-ended": ended("The program ended by itself.", LOOK_AT_LOG),
  "out-of-memory": ended("The program used more memory than it was given.", "Use less memory, or ask for more."),
  "ended-outside": ended("Someone other than Millrace ended the program.", "Nothing: it is started again."),
  "filled-disk": ended(
    "Millrace ended the program because it wrote while the server's disk was full.",
    "Let it write less, or start it on a machine with more disk.",
  ),
  "warm-up-failed": worded({
    means: "The warm-up request of the endpoint failed on the worker.",
    remedy: "Fix the handler, or the endpoint's `workers.warmup`.",
    text: (_, words) => after("warm-up failed", words),
  }),
  "warm-up-too-slow": worded<{ seconds: number }>({
    means: "The warm-up request of the endpoint did not end in time.",
    remedy: "Raise `workers.warmup.timeout`, or make the warm-up faster.",
    text: ({ seconds }) => `warm-up did not end within ${seconds} s`,
  }),
  "not-fit": worded({
    means: "The worker reported that it is not fit to work.",
    remedy: "Read which check failed, and fix it in the image.",
    text: (_, words) => after("not fit to work", words),
  }),
  "slow-start": worded<{ seconds: number }>({
    means: "The worker did not ask for work before its start-up time ended.",
    remedy: "Make the start faster, or raise the limit with RUNPOD_INIT_TIMEOUT.",
    text: ({ seconds }) => `did not ask for work within ${seconds} s`,
  }),
  "never-healthy": worded<{ minutes: number; check: string }>({
    means: "The health check never succeeded before the worker's start-up time ended.",
    remedy: "Check the port and the path of the health check, and the log of the worker.",
    text: ({ minutes, check }) => `not healthy for ${minutes} minutes: ${check}`,
  }),
  unhealthy: worded<{ check: string; seconds?: number }>({
    means: "The health check fails after it had succeeded.",
    remedy: "Wait: the worker is replaced if this lasts. Look at its log.",
    text: ({ check, seconds }) => `unhealthy${seconds === undefined ? "" : ` for ${seconds} s`}: ${check}`,
  }),
  "getting-ready": worded<{ check: string }>({
    means: "The health check says that the worker is getting ready.",
    remedy: "Wait.",
    text: ({ check }) => `getting ready: ${check}`,
  }),
  "worker-silent": worded<{ seconds: number }>({
    means: "The worker runs, but has been silent for some time.",
    remedy: "Wait: it is replaced if it stays silent. Its log may show what blocks it.",
    text: ({ seconds }) => `silent for ${seconds} s`,
  }),
  "thaw-failed": worded<{ seconds?: number }>({
    means: "The worker was frozen and did not continue after the thaw.",
    remedy: "Nothing: another worker is started. Turn flashboot off if it happens often.",
    text: ({ seconds }, about) =>
      seconds === undefined ? after("could not be thawed", about) : `silent for ${seconds} s after its thaw`,
  }),
  "at-lost-job": worded<{ job: string; seconds?: number }>({
    means: "The worker is still busy with a job that was cancelled, timed out or given to another worker.",
    remedy: "Nothing: the worker is replaced if its handler does not stop.",
    text: ({ job, seconds }) => `still busy with ${job}${seconds === undefined ? "" : ` after ${seconds} s`}`,
  }),
  "crash-loop": worded<{ cause: string; failures: number }>({
    means: "The program fails at every start. The fact `cause` is the code of its last failure.",
    remedy: `${LOOK_AT_LOG} Then change the image, its variables or its command.`,
    text: (_, about) => after("crash loop", about),
  }),
} as const satisfies Record<string, Entry>;
