/** How long a worker may take from its start to its first ask for work, as its endpoint's environment says. */
import { problem } from "../../kernel/problem.ts";
import { hasPlaceholder } from "../secrets/placeholders.ts";

type Variables = Readonly<Record<string, string>>;

/** The first that is set counts. */
const NAMES = ["MILLRACE_INIT_TIMEOUT", "RUNPOD_INIT_TIMEOUT"] as const;
const DEFAULT_S = 420;
const LONGEST_S = 86_400;
const RULE = `must be a whole number of seconds from 1 to ${LONGEST_S}`;

/** Of an environment in which every secret stands in its place. */
export function initTimeoutMs(env: Variables): number {
  const [wrong] = misnamed(env);
  // Not with its text, which may have come from a secret.
  if (wrong) throw problem("rule-broken", `'${wrong}' ${RULE}.`);
  const set = NAMES.map((name) => env[name]).find(Boolean);
  return (set ? Number(set) : DEFAULT_S) * 1000;
}

/** One line for each that can be judged before the boot. */
export function initTimeoutMistakes(env: Variables): string[] {
  return misnamed(env)
    .filter((name) => !hasPlaceholder(env[name]!))
    .map((name) => `$.env.${name}: ${RULE}`);
}

/** The variables that alone decide how long is waited. */
export function initTimeoutVariables(env: Variables): Variables {
  return Object.fromEntries(NAMES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** Those that are set to something else than a time; an empty one counts as absent. */
const misnamed = (env: Variables) => NAMES.filter((name) => env[name] && !isTime(env[name]));

function isTime(text: string): boolean {
  return /^[1-9]\d{0,8}$/.test(text) && Number(text) <= LONGEST_S;
}
