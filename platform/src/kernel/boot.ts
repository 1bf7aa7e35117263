/** Whether a change of a field needs a new boot of what runs: a word on each field, `x-boot`, in the model of a thing that runs. */
import type { Static, TObject, TSchema } from "./schema.ts";

const wordOf = (field: TSchema) => (field as { "x-boot"?: boolean })["x-boot"];

/** By field, what the model says; a field that says nothing is a mistake of the model. */
export function bootsOf<R extends { name: string; create: TObject }>({ name, create }: R) {
  const words = Object.entries(create.properties).map(([field, schema]) => {
    const word = wordOf(schema);
    if (word === undefined) throw new Error(`'${field}' of ${name} lacks 'x-boot': whether changing it needs a boot`);
    return [field, word] as const;
  });
  return Object.fromEntries(words) as Record<keyof Static<R["create"]>, boolean>;
}

/** The fields whose change needs a boot. */
export const bootedIn = <Field extends string>(boots: Readonly<Record<Field, boolean>>): Field[] =>
  (Object.keys(boots) as Field[]).filter((field) => boots[field]);
