/** Reasons why the service itself ended a job. */
import { after, type Entry, worded } from "./entry.ts";

export const jobReasons = {
  "job-expired": worded<{ ttlMs: number }>({
    means: "The job had not ended when its time to live was over.",
    remedy: "Raise `policy.ttl` of the job, or let the endpoint have more workers.",
    text: ({ ttlMs }) => `job timed out: its time to live of ${ttlMs} ms passed`,
  }),
  "job-overran": worded<{ timeoutMs: number }>({
    means: "The job ran for longer than it may.",
    remedy: "Raise `policy.executionTimeout` of the job or `timeout` of the endpoint, or make the handler faster.",
    text: ({ timeoutMs }) => `job timed out: it ran longer than its execution timeout of ${timeoutMs} ms`,
  }),
  "attempts-used-up": worded<{ attempts: number }>({
    means: "Each worker that had the job was lost, as often as that may happen to one job.",
    remedy: "Look into the logs of the workers: the job may need more memory than they have, or end their program.",
    text: ({ attempts }, about = "its workers were lost") => `${about}; given up after ${attempts} attempts`,
  }),
  "credential-lost": worded({
    means: "A credential that was sent with the job can no longer be opened.",
    remedy: "Send the job again. Ask the operator whether the master key was changed.",
    text: (_, about) => after("s3Config.accessSecret can no longer be opened", about),
  }),
  "result-too-long": worded<{ limitMb: number }>({
    means: "The worker's result is longer than one may be.",
    remedy: "Write long output to a volume or to S3, and return where it is.",
    text: ({ limitMb }) => `the output exceeds ${limitMb} MB`,
  }),
  "result-unreadable": worded<{ fault: string }>({
    means: "What the worker sent as its result cannot be read as one.",
    remedy: "Read `rawOutput`, which is how it begins, and mend the worker.",
    text: ({ fault }, about) => after(`the worker's result ${fault}`, about, "; it begins: "),
  }),
} as const satisfies Record<string, Entry>;
