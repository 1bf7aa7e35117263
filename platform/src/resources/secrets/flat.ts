/** The flat dialect of secrets: every field keeps its name. */
import { flatDialect } from "../../kernel/flat.ts";
import { type KeptSecret, Secret } from "./model.ts";
import type { NewSecret } from "./service.ts";

export const secretDialect = flatDialect<KeptSecret, NewSecret>(Secret, {
  unsaid: { valueLastUpdatedAt: "when its value was set, which nobody gives" },
});
