/** Each field of a model whose instances run says whether changing it needs a boot. */
import { expect, test } from "vitest";
import { bootedIn, bootsOf } from "./boot.ts";
import { resource } from "./resource.ts";
import { t } from "./schema.ts";

const label = t.Optional(t.String({ maxLength: 9, "x-boot": false }));
const image = t.Optional(t.String({ maxLength: 9, "x-boot": true }));

test("the words of a model's fields, given once or changeable", () => {
  const Thing = resource("Thing", { assigned: { id: t.String() }, given: { label }, once: { image } });
  expect(bootsOf(Thing)).toEqual({ label: false, image: true });
  expect(bootedIn(bootsOf(Thing))).toEqual(["image"]);
});

test("a field that does not say it is found out when the model is loaded", () => {
  const Thing = resource("Thing", { assigned: {}, given: { label, size: t.Optional(t.Integer()) } });
  expect(() => bootsOf(Thing)).toThrow("'size' of Thing lacks 'x-boot': whether changing it needs a boot");
});
