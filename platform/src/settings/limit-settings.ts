/** The settings for limits of callers and accounts, a part of the table of all settings. */
import { parseInvokeLimits } from "../guards/invoke-policy.ts";
import { parsePolicy } from "../guards/rate-policy.ts";
import { parsePayloadLimits } from "../jobs/payload-limits.ts";
import { parseRetention } from "../jobs/retention.ts";
import { parseQuotas } from "../resources/account/quotas.ts";

export const limitSettings = {
  rateLimits: {
    flag: "rate-limits",
    variable: "MILLRACE_RATE_LIMITS",
    value: "M,H,D",
    default: "600,18000,200000",
    about: "requests of a user per minute, hour and day, or 'off'",
    read: parsePolicy,
  },
  anonymousLimits: {
    flag: "anonymous-limits",
    variable: "MILLRACE_ANONYMOUS_LIMITS",
    value: "M,H,D",
    default: "1200,12000,100000",
    about: "requests without a key (GraphQL reads of the catalog), per address and minute, hour and day, or 'off'",
    read: parsePolicy,
  },
  quotas: {
    flag: "quotas",
    variable: "MILLRACE_QUOTAS",
    value: "QUOTAS",
    about:
      "limits for each account, such as workers=50,gpus=8; default: 16 workers for each processor but at least 32; 1000 each of Pods, volumes, endpoints, keys, secrets, registries and templates; all GPUs, vCPU and GB of the machines",
    read: parseQuotas,
  },
  invokeLimits: {
    flag: "invoke-limits",
    variable: "MILLRACE_INVOKE_LIMITS",
    value: "LIMITS",
    default: "off",
    about:
      "limits for each user on /run and the other calls of an endpoint: off, on, or changes to on, such as run=1000/200",
    read: parseInvokeLimits,
  },
  payloadLimits: {
    flag: "payload-limits",
    variable: "MILLRACE_PAYLOAD_LIMITS",
    value: "R,S,O,L",
    default: "10,20,20,256",
    about:
      "MB allowed in a /run body, a /runsync body, a result, and a large result that is stored behind a URL; 0 as the last stores none",
    read: parsePayloadLimits,
  },
  resultMinutes: {
    flag: "result-minutes",
    variable: "MILLRACE_RESULT_MINUTES",
    value: "R,S,W",
    default: "30,1,5",
    about:
      "minutes for which results are kept after the job has ended: of /run, of /runsync, and of /runsync with 'wait'",
    read: parseRetention,
  },
};
