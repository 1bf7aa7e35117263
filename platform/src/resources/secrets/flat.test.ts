/** The flat dialect of secrets. */
import { flatConformance } from "../../kernel/flat.conformance.ts";
import { secretDialect } from "./flat.ts";

flatConformance("secrets", {
  dialect: secretDialect,
  whole: [{ name: "token", description: "of the hub", valueLastUpdatedAt: 0 }],
  any: (random) => ({ name: `s${random.below(1000)}`, description: `d${random.below(1000)}`, valueLastUpdatedAt: 0 }),
  hidden: { value: "v" },
  made: ({ name, description = "" }) => ({ name, description: description || null, valueLastUpdatedAt: 0 }),
});
