/** Secrets: encrypted text that environment variables refer to by name. */
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { dateTime, nullable, t } from "../../kernel/schema.ts";

/** The limit is strictly fewer than 16,777,216 bytes. */
export const VALUE_MAX_BYTES = 16_777_215;
export const DESCRIPTION_MAX_BYTES = 65_535;

export const Secret = resource("Secret", {
  assigned: {
    id: t.String({ description: "Unique secret identifier." }),
    createdAt: dateTime("Creation time."),
    valueLastUpdatedAt: t.Optional(nullable(dateTime("When the value was last set, at creation or by rotation."))),
  },
  fixed: {
    name: t.String({
      minLength: 1,
      maxLength: 191,
      pattern: "^[a-zA-Z_][a-zA-Z0-9_.\\-/]*$",
      description: "Unique name, used in `{{ MILLRACE_SECRET_<name> }}`. It cannot be changed.",
    }),
  },
  given: {
    description: t.Optional(
      t.String({
        "x-max-bytes": DESCRIPTION_MAX_BYTES,
        description: "Description for people. The empty text clears it.",
      }),
    ),
  },
  hidden: {
    value: t.String({
      minLength: 1,
      "x-max-bytes": VALUE_MAX_BYTES,
      description: "The secret text. Write-only: no answer ever contains it.",
      writeOnly: true,
    }),
  },
  shown: { description: t.Optional(nullable(t.String({ description: "Description for people." }))) },
});
export type Secret = RecordOf<typeof Secret>;

export type KeptSecret = KeptOf<typeof Secret, { description: string | null; valueLastUpdatedAt: number }>;

export const secrets: Kept<KeptSecret> = {
  kind: "secret",
  v: 1,
  // The list filter ignores case, so it could not tell two names apart that differ only in case.
  unique: ({ name }) => ({ name: name.toLowerCase() }),
};
