/** What the form of a listing begins with and sends. */
import type { HubListingDetails } from "@millrace/platform/resources/hub/model.ts";
import { expect, test } from "vitest";
import { chosenValues, initialValues, isOn, switched } from "./values.ts";

const variable = (key: string, standard: string | null, more = {}) => ({
  ...{ key, name: key, type: "string" as const, description: "", default: standard, required: false },
  ...{ advanced: false, options: [], ...more },
});
const listing = {
  variables: [variable("A", "1"), variable("B", null)],
  presets: [{ name: "big", values: { B: "2" } }],
} as unknown as HubListingDetails;

test("a preset is laid over the defaults, and only other choices are sent", () => {
  expect(initialValues(listing)).toEqual({ A: "1", B: "" });
  expect(initialValues(listing, "big")).toEqual({ A: "1", B: "2" });
  expect(chosenValues(listing, "big", { A: "1", B: "2" })).toEqual({});
  expect(chosenValues(listing, "big", { A: "9", B: "2" })).toEqual({ A: "9" });
});

test("a switch has the words of its variable", () => {
  const loud = variable("LOUD", null, { trueValue: "yes", falseValue: "no" });
  expect([switched(loud, true), switched(loud, false), isOn(loud, "yes")]).toEqual(["yes", "no", true]);
});
