/** Reads how long a worker may take from its start to its first request for work, from its endpoint's environment. */
import { problem } from "../../kernel/problem.ts";
import { hasPlaceholder } from "../secrets/placeholders.ts";

type Variables = Readonly<Record<string, string>>;

/** The first of these that is set counts. */
const NAMES = ["MILLRACE_INIT_TIMEOUT", "RUNPOD_INIT_TIMEOUT"] as const;
const DEFAULT_S = 420;
const LONGEST_S = 86_400;
const RULE = `must be a whole number of seconds from 1 to ${LONGEST_S}`;

/** Takes an environment in which the secrets are already resolved. */
export function initTimeoutMs(env: Variables): number {
  const [wrong] = misnamed(env);
  // The message leaves out the value, which may come from a secret.
  if (wrong) throw problem("rule-broken", `'${wrong}' ${RULE}.`);
  const set = NAMES.map((name) => env[name]).find(Boolean);
  return (set ? Number(set) : DEFAULT_S) * 1000;
}

/** One line for each mistake that can be found before the boot. */
export function initTimeoutMistakes(env: Variables): string[] {
  return misnamed(env)
    .filter((name) => !hasPlaceholder(env[name]!))
    .map((name) => `$.env.${name}: ${RULE}`);
}

/** The only variables that affect the timeout. */
export function initTimeoutVariables(env: Variables): Variables {
  return Object.fromEntries(NAMES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** The variables whose value is not a time. An empty value counts as absent. */
const misnamed = (env: Variables) => NAMES.filter((name) => env[name] && !isTime(env[name]));

function isTime(text: string): boolean {
  return /^[1-9]\d{0,8}$/.test(text) && Number(text) <= LONGEST_S;
}
