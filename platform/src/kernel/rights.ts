/** Who may set a field of a request. The mark `x-who` on a field says so, if the operation's scope alone is not enough. */
import type { Who } from "./operation.ts";
import type { TSchema } from "./schema.ts";

export const rights = {
  scope: "anyone with the scope",
  installation: "only the installation's owner",
  "host-images": "anyone with the scope; a folder of the machine needs `MILLRACE_HOST_IMAGES` to allow it",
  quota: "anyone with the scope, up to the account's quota",
} as const;

/** Who may use an operation, if holding the scope is not all. */
export const audiences: Readonly<Record<Who, string>> = {
  installation: rights.installation,
  caller: "every key and every person",
  person: "people who are signed in, about themselves",
  anybody: "everybody, without a key",
};

export type Right = keyof typeof rights;

export const rightOf = (field: TSchema): Right => (field as { "x-who"?: Right })["x-who"] ?? "scope";

/** Returns the fields of a body, by name. */
export const fieldsOf = (schema: TSchema | undefined): Record<string, TSchema> =>
  (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};

/** Returns the first field in a body that only the installation's owner may set. A field with its default value does not count as set. */
export function reservedIn(schema: TSchema, body: object): string | undefined {
  const given = body as Record<string, unknown>;
  return Object.entries(fieldsOf(schema)).find(([name, field]) => {
    const isSet = given[name] !== undefined && given[name] !== (field as { default?: unknown }).default;
    return isSet && rightOf(field) === "installation";
  })?.[0];
}
