/** The table of what older surfaces cannot say is complete: it has all fields that their dialect leaves out or simplifies. */
import { expect, test } from "vitest";
import type { TObject, TSchema } from "../kernel/schema.ts";
import { created } from "./endpoints/fields.ts";
import { endpointDialect } from "./endpoints/flat.ts";
import { flashBootFrom, isFlashBooting, wholeScalerValueOf } from "./endpoints/flat-forms.ts";
import { Endpoint } from "./endpoints/model.ts";
import { podDialect } from "./pods/flat.ts";
import { Pod } from "./pods/model.ts";
import { registryDialect } from "./registries/flat.ts";
import { Registry } from "./registries/model.ts";
import { templateDialect } from "./templates/flat.ts";
import { Template } from "./templates/model.ts";
import { unsayable } from "./unsayable.ts";
import { networkVolumeDialect } from "./volumes/flat.ts";
import { NetworkVolume } from "./volumes/model.ts";

const spoken = [
  { resource: "endpoint", unsaid: endpointDialect.unsaid, create: Endpoint.create },
  { resource: "Pod", unsaid: podDialect.unsaid, create: Pod.create },
  { resource: "template", unsaid: templateDialect.unsaid, create: Template.create },
  { resource: "volume", unsaid: networkVolumeDialect.unsaid, create: NetworkVolume.create },
  { resource: "registry", unsaid: registryDialect.unsaid, create: Registry.create },
];

/** Whether a caller can set this field at all. */
function isGiven({ properties }: TObject, path: string): boolean {
  const [first = "", ...rest] = path.split(".");
  const schema: TSchema | undefined = properties[first];
  if (schema === undefined || rest.length === 0) return schema !== undefined;
  return "properties" in schema && isGiven(schema as TObject, rest.join("."));
}

test("every field that the flat dialect leaves out, and a caller may give, is in the table", () => {
  const left = spoken.flatMap(({ resource, unsaid, create }) =>
    Object.keys(unsaid)
      .filter((field) => isGiven(create, field))
      .map((field) => `${resource} ${field}`),
  );
  const whole = unsayable.filter(({ values }) => values === undefined);
  expect(whole.map(({ resource, field }) => `${resource} ${field}`).sort()).toEqual(left.sort());
});

test("values that are said coarser are those of the table, and stay where they are not said", () => {
  const coarse = unsayable.filter(
    ({ values, graphql, restV1 }) => values !== undefined && (graphql ?? restV1) !== null,
  );
  expect(coarse.map(({ field }) => field)).toEqual(expect.arrayContaining(["scaling.queueDelay", "flashboot"]));
  const kept = created({
    ...{ name: "e", image: "i", gpu: {}, flashboot: "PRIORITY_FLASHBOOT" },
    scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 },
  });
  expect([wholeScalerValueOf(kept), isFlashBooting(kept)]).toEqual([1, true]);
  expect(endpointDialect.terms({ scalerValue: 1 }, kept).scaling).toEqual(kept.scaling);
  expect(flashBootFrom(true, kept)).toBe(kept.flashboot);
});
