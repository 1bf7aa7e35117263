/** The flat dialect of registries. */
import { expect, test } from "vitest";
import { flatConformance } from "../../kernel/flat.conformance.ts";
import { failures } from "../../kernel/validate.ts";
import { registryDialect } from "./flat.ts";

const CREDENTIAL = { username: "reader", password: "open sesame" };

flatConformance("registries", {
  dialect: registryDialect,
  whole: [{ name: "hub" }],
  any: (random) => ({ name: `r${random.below(1000)}` }),
  hidden: CREDENTIAL,
  made: ({ name }) => ({ name }),
});

test("a creation says the credential, and no record does", () => {
  expect(registryDialect.terms({ name: "hub", ...CREDENTIAL })).toEqual({ name: "hub", ...CREDENTIAL });
  expect(registryDialect.of({ name: "hub" })).toEqual({ name: "hub" });
  expect(failures(registryDialect.create, { name: "hub" }).toSorted()).toEqual([
    "$: property 'password' is required",
    "$: property 'username' is required",
  ]);
});
