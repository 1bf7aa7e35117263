/** Reasons why the service itself ended a job. */
import { after, type Entry, worded } from "./entry.ts";

export const jobReasons = {
  "job-expired": worded<{ ttlMs: number }>({
    means: "The job did not end within its time to live.",
    remedy: "Raise `policy.ttl` of the job, or let the endpoint have more workers.",
    text: ({ ttlMs }) => `job timed out: its time to live of ${ttlMs} ms passed`,
  }),
  "job-overran": worded<{ timeoutMs: number }>({
    means: "The job ran longer than its execution timeout.",
    remedy: "Raise `policy.executionTimeout` of the job or `timeout` of the endpoint, or make the handler faster.",
    text: ({ timeoutMs }) => `job timed out: it ran longer than its execution timeout of ${timeoutMs} ms`,
  }),
  "attempts-used-up": worded<{ attempts: number }>({
    means: "The job lost a worker in each of its attempts.",
    remedy: "Look at the logs of the workers: the job may need more memory than they have, or crash their program.",
    text: ({ attempts }, about = "its workers were lost") => `${about}; given up after ${attempts} attempts`,
  }),
  "credential-lost": worded({
    means: "Millrace can no longer decrypt a credential that was sent with the job.",
    remedy: "Send the job again. Ask the operator whether the master key was changed.",
    text: (_, about) => after("s3Config.accessSecret can no longer be decrypted", about),
  }),
  "input-lost": worded({
    means: "The job's input is no longer on the server's disk or in its database.",
    remedy: "Send the job again. Ask the operator to check the disk that holds the data folder.",
    text: () => "the job's input is lost: it can no longer be read",
  }),
  "result-too-long": worded<{ limitMb: number }>({
    means: "The worker's result is longer than allowed.",
    remedy: "Write long output to a volume or to S3, and return where it is.",
    text: ({ limitMb }) => `the output exceeds ${limitMb} MB`,
  }),
  "result-unreadable": worded<{ fault: string }>({
    means: "The worker sent a result that Millrace cannot read.",
    remedy: "Read `rawOutput`, which has its beginning, and fix the worker.",
    text: ({ fault }, about) => after(`the worker's result ${fault}`, about, "; it begins: "),
  }),
} as const satisfies Record<string, Entry>;
