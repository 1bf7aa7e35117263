/** The settings for limits of callers and accounts, a part of the table of all settings. */
import { parseInvokeLimits } from "../guards/invoke-policy.ts";
import { parsePolicy } from "../guards/rate-policy.ts";
import { parsePayloadLimits } from "../jobs/payload-limits.ts";
import { parseQuotas } from "../resources/account/quotas.ts";

export const limitSettings = {
  rateLimits: {
    flag: "rate-limits",
    variable: "MILLRACE_RATE_LIMITS",
    value: "M,H,D",
    default: "600,18000,200000",
    about: "requests per user a minute, an hour and a day, or 'off'",
    read: parsePolicy,
  },
  anonymousLimits: {
    flag: "anonymous-limits",
    variable: "MILLRACE_ANONYMOUS_LIMITS",
    value: "M,H,D",
    default: "1200,12000,100000",
    about:
      "requests without a key, which read the catalog by GraphQL, per address a minute, an hour and a day, or 'off'",
    read: parsePolicy,
  },
  quotas: {
    flag: "quotas",
    variable: "MILLRACE_QUOTAS",
    value: "QUOTAS",
    about:
      "what an account may have, such as workers=50,gpus=8; by default 16 workers for each processor, 32 at least, 1000 Pods, volumes, endpoints, keys, secrets, registries and templates each, and what the machines have of GPUs, vCPU and GB",
    read: parseQuotas,
  },
  invokeLimits: {
    flag: "invoke-limits",
    variable: "MILLRACE_INVOKE_LIMITS",
    value: "LIMITS",
    default: "off",
    about:
      "limits of /run and the other calls of an endpoint per user: off, on, or what differs from on, such as run=1000/200",
    read: parseInvokeLimits,
  },
  payloadLimits: {
    flag: "payload-limits",
    variable: "MILLRACE_PAYLOAD_LIMITS",
    value: "R,S,O,L",
    default: "10,20,20,256",
    about:
      "MB allowed in a /run body, a /runsync body, a result, and a result that is kept apart behind a URL; 0 keeps none apart",
    read: parsePayloadLimits,
  },
};
