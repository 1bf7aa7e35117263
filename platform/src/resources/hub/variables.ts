/** The variables of a listing: what can be chosen, and what the program gets for a choice. */
import { hasPlaceholder } from "../secrets/placeholders.ts";
import type { Fields, Scalar } from "./fields.ts";
import { HUB_LIMITS, type VariableType, variableTypes } from "./model.ts";

export interface Variable {
  key: string;
  name: string;
  type: VariableType;
  description: string;
  default: string | null;
  required: boolean;
  advanced: boolean;
  options: { label: string; value: string }[];
  min?: number;
  max?: number;
  trueValue?: string;
  falseValue?: string;
}

export interface Preset {
  name: string;
  values: Record<string, string>;
}

/** As in the environment of any endpoint. An object of this program cannot hold a field of the last name. */
const KEY = /^(?!__proto__$)[^=\0\s]{1,256}$/;

export function variablesOf(config: Fields): { variables: Variable[]; fixed: Record<string, string> } {
  const variables: Variable[] = [];
  const fixed: Record<string, string> = {};
  const seen = new Set<string>();
  for (const entry of config.objects("env", HUB_LIMITS.variables)) {
    const key = entry.text("key", 256);
    if (!KEY.test(key)) entry.fault("key", "must be the name of a variable, without spaces");
    if (seen.has(key)) entry.fault("key", `is '${key}' a second time`);
    seen.add(key);
    const input = entry.object("input");
    if (input) variables.push(variableOf(key, input));
    else fixed[key] = String(entry.scalar("value", HUB_LIMITS.value) ?? "");
  }
  return { variables, fixed };
}

function variableOf(key: string, input: Fields): Variable {
  // Other types exist only in forms: the program gets a text.
  const said = input.text("type", 64, "string").toLowerCase();
  const type = variableTypes.find((one) => one === said) ?? "string";
  const [min, max] = [input.number("min"), input.number("max")];
  const words = { trueValue: textOf(input, "trueValue"), falseValue: textOf(input, "falseValue") };
  const given = input.scalar("default", HUB_LIMITS.value);
  const variable: Variable = {
    ...{ key, type },
    name: input.text("name", HUB_LIMITS.title) || key,
    description: input.text("description", HUB_LIMITS.description),
    default: null,
    required: input.flag("required"),
    advanced: input.flag("advanced"),
    options: input.objects("options", HUB_LIMITS.options).map((option) => {
      const value = String(option.scalar("value", HUB_LIMITS.value) ?? "");
      return { value, label: option.text("label", HUB_LIMITS.title) || value };
    }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(words.trueValue !== undefined && { trueValue: words.trueValue }),
    ...(words.falseValue !== undefined && { falseValue: words.falseValue }),
  };
  if (given === undefined || given === "") return variable;
  return { ...variable, default: asWritten(variable, given) };
}

/** A default is its author's own choice, so it may also be one that nobody else could make. */
function asWritten(variable: Variable, given: Scalar): string {
  const read = textFor(variable, given);
  return "text" in read ? read.text : String(given);
}

const textOf = (input: Fields, name: string): string | undefined => {
  const value = input.scalar(name, HUB_LIMITS.value);
  return value === undefined ? undefined : String(value);
};

export function presetsOf(config: Fields, variables: readonly Variable[]): Preset[] {
  const byKey = new Map(variables.map((variable) => [variable.key, variable]));
  return config.objects("presets", HUB_LIMITS.presets).map((preset) => {
    const name = preset.text("name", HUB_LIMITS.title);
    if (name === "") preset.fault("name", "is required");
    const defaults = preset.object("defaults");
    const values: Record<string, string> = {};
    for (const key of Object.keys(defaults?.values ?? {}).slice(0, HUB_LIMITS.variables)) {
      const said = defaults!.scalar(key, HUB_LIMITS.value);
      const variable = byKey.get(key);
      // Presets of public listings name variables that their listing has no more. Nobody can choose those.
      if (said !== undefined && said !== "" && variable) values[key] = asWritten(variable, said);
    }
    return { name, values };
  });
}

type Read = { text: string } | { why: string };

/** Returns a value as the program gets it, or why it cannot be one. A secret's value is known only when the program starts. */
function textFor(variable: Variable, given: Scalar): Read {
  const { type, options } = variable;
  if (typeof given === "string" && hasPlaceholder(given)) return { text: given };
  if (type === "boolean") return booleanOf(variable, given);
  if (options.length > 0) {
    const found = options.find(({ value }) => value === String(given));
    const known = options.map(({ value }) => value).join(", ");
    return found ? { text: found.value } : { why: `must be one of ${known.slice(0, 500)}` };
  }
  return type === "number" ? numberOf(variable, given) : { text: String(given) };
}

function booleanOf({ trueValue = "true", falseValue = "false" }: Variable, given: Scalar): Read {
  const text = String(given);
  if (text.toLowerCase() === "true" || text === trueValue) return { text: trueValue };
  if (text.toLowerCase() === "false" || text === falseValue) return { text: falseValue };
  return { why: "must be true or false" };
}

function numberOf({ min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: Variable, given: Scalar): Read {
  const value = typeof given === "string" && given.trim() === "" ? Number.NaN : Number(given);
  if (!Number.isFinite(value) || typeof given === "boolean") return { why: "must be a number" };
  if (value < min) return { why: `must be at least ${min}` };
  return value > max ? { why: `must be at most ${max}` } : { text: String(given).trim() };
}

interface Chosen {
  preset?: string | undefined;
  variables?: Readonly<Record<string, Scalar>> | undefined;
}

/** The environment of a program by its listing and what was chosen. An empty text counts as no choice. */
export function environmentOf(
  { variables, fixed, presets }: { variables: readonly Variable[]; fixed: Record<string, string>; presets: Preset[] },
  { preset: presetName, variables: chosen = {} }: Chosen,
): { env: Record<string, string>; errors: string[] } {
  const preset = presets.find(({ name }) => name === presetName);
  const known = new Set(variables.map(({ key }) => key));
  const errors = Object.keys(chosen)
    .filter((key) => !known.has(key))
    .map((key) => `$.variables.${key}: this listing has no such variable; send others in 'env'`);
  if (presetName !== undefined && !preset)
    errors.push(
      `$.preset: there is no preset '${presetName}'; there are ${presets.map(({ name }) => name).join(", ") || "none"}`,
    );
  const env = { ...fixed };
  for (const variable of variables) {
    const { key, required, name } = variable;
    const given = Object.hasOwn(chosen, key) ? chosen[key]! : "";
    const read = given === "" ? undefined : textFor(variable, given);
    const text = read && "text" in read ? read.text : (preset?.values[key] ?? variable.default);
    if (read && "why" in read) errors.push(`$.variables.${key}: ${read.why}`);
    else if (text !== null && text !== "") env[key] = text;
    else if (required) errors.push(`$.variables.${key}: '${name}' is required`);
  }
  return { env, errors };
}
