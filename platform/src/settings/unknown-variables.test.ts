/** Which unknown variables stop a start, which are reported, and which are ignored. */
import { expect, test } from "vitest";
import { allSettings } from "./settings.ts";
import { unknownVariables } from "./unknown-variables.ts";

const unknown = (...names: string[]) => unknownVariables(Object.fromEntries(names.map((name) => [name, "x"])));

test.each([
  ["MILLRACE_PROT", "MILLRACE_PORT"],
  ["MILLRACE_DATABASEURL", "MILLRACE_DATABASE_URL"],
  ["MILLRACE_QUOTA", "MILLRACE_QUOTAS"],
  ["MILLRACE_API_KEYS", "MILLRACE_API_KEY"],
])("%s is refused with the name that was meant", (name, meant) => {
  expect(() => unknown(name)).toThrow(`${name} is no setting; ${meant} is: set that instead, or unset ${name}.`);
});

test("what is like no setting is told in one line, and stops nothing", () => {
  expect(unknown("MILLRACE_COLOUR_OF_SKY", "MILLRACE_ARE_WE_THERE")).toBe(
    "ignored, because there is no setting of this name: MILLRACE_ARE_WE_THERE, MILLRACE_COLOUR_OF_SKY. " +
      "'millrace serve --help' lists the settings.",
  );
  expect(unknown(...Array.from({ length: 13 }, (_, i) => `MILLRACE_SOMETHING_ELSE_${i}`))).toContain(" and 3 more.");
});

test("settings, other programs' variables, and those of workers, Pods and tests are nothing to speak of", () => {
  expect(unknown(...allSettings.map(({ variable }) => variable), "PATH")).toBeUndefined();
  const given = ["POD_ID", "WORKER_ID", "ENDPOINT_ID", "URL", "SECRET_TOKEN", "TCP_PORT_22", "TEST_SEED", "SEED"];
  expect(unknown(...given.map((name) => `MILLRACE_${name}`))).toBeUndefined();
});
