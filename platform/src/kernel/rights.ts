/** Who may set a field of a request: a word on the field, `x-who`, where holding the operation's scope is not all that is asked for. */
import type { TSchema } from "./schema.ts";

export const rights = {
  scope: "whoever holds the scope",
  installation: "the installation's owner alone",
  "host-images": "whoever holds the scope; a folder of the machine, whom `MILLRACE_HOST_IMAGES` allows it",
  quota: "whoever holds the scope, up to the account's quota",
} as const;

export type Right = keyof typeof rights;

export const rightOf = (field: TSchema): Right => (field as { "x-who"?: Right })["x-who"] ?? "scope";

/** The fields of a body, by name. */
export const fieldsOf = (schema: TSchema | undefined): Record<string, TSchema> =>
  (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};

/** What a body sets that is the installation's owner's alone. Saying what holds anyway sets nothing. */
export function reservedIn(schema: TSchema, body: object): string | undefined {
  const given = body as Record<string, unknown>;
  return Object.entries(fieldsOf(schema)).find(([name, field]) => {
    const isSet = given[name] !== undefined && given[name] !== (field as { default?: unknown }).default;
    return isSet && rightOf(field) === "installation";
  })?.[0];
}
