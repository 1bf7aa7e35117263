/** Says whether changing a field needs a new boot: each field in the model of something that runs carries the mark `x-boot`. */
import type { Static, TObject, TSchema } from "./schema.ts";

const wordOf = (field: TSchema) => (field as { "x-boot"?: boolean })["x-boot"];

/** Returns the mark of each field. A field without one is a mistake in the model, and throws. */
export function bootsOf<R extends { name: string; create: TObject }>({ name, create }: R) {
  const words = Object.entries(create.properties).map(([field, schema]) => {
    const word = wordOf(schema);
    if (word === undefined) throw new Error(`'${field}' of ${name} lacks 'x-boot': whether changing it needs a boot`);
    return [field, word] as const;
  });
  return Object.fromEntries(words) as Record<keyof Static<R["create"]>, boolean>;
}

/** Returns the fields whose change needs a boot. */
export const bootedIn = <Field extends string>(boots: Readonly<Record<Field, boolean>>): Field[] =>
  (Object.keys(boots) as Field[]).filter((field) => boots[field]);
