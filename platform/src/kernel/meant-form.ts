/** Finds out which of several allowed forms a value was meant to have, so that the refusal says what is wrong with that one. */

/** The part of a JSON schema that is used here. */
interface Form {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Form>;
  required?: string[];
  additionalProperties?: unknown;
  items?: Form;
  anyOf?: Form[];
  oneOf?: Form[];
}

export type Meant =
  /** The index of the form. */
  | { form: number }
  /** No form allows this type of value. These are the types that they allow. */
  | { types: string[] }
  /** The field that tells the forms apart has a value that no form allows. */
  | { field: string; allowed: unknown[] };

export function meantForm(forms: readonly Form[], value: unknown): Meant {
  const fitting = forms.flatMap((form, index) => (fitsType(form, value) ? [{ form, index }] : []));
  if (fitting.length === 0) return { types: [...new Set(forms.flatMap(typesOf))] };
  if (isObject(value)) {
    const field = wrongConstant(
      fitting.map(({ form }) => form),
      value,
    );
    if (field) return field;
  }
  const agreements = fitting.map(({ form }) => agreement(form, value));
  return { form: fitting[agreements.indexOf(Math.max(...agreements))]!.index };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function typesOf({ type, enum: values, const: constant, anyOf, oneOf }: Form): string[] {
  if (type !== undefined) return [type].flat();
  const within = anyOf ?? oneOf;
  if (within) return within.flatMap(typesOf);
  return [...(values ?? []), ...(constant === undefined ? [] : [constant])].map(jsonType);
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function fitsType(form: Form, value: unknown): boolean {
  const types = typesOf(form);
  const type = jsonType(value);
  return types.length === 0 || types.includes(type) || (type === "integer" && types.includes("number"));
}

/** A field that has a constant in every form, as `type` often does, tells the forms apart by itself. */
function wrongConstant(forms: readonly Form[], value: Record<string, unknown>): Meant | undefined {
  if (forms.length < 2) return undefined;
  for (const field of Object.keys(forms[0]!.properties ?? {})) {
    const allowed = forms.map(({ properties = {} }) => properties[field]?.const);
    if (allowed.includes(undefined) || !Object.hasOwn(value, field)) continue;
    if (!allowed.includes(value[field])) return { field, allowed };
  }
  return undefined;
}

/** Scores how well a value agrees with a form. One matching constant counts more than all field names together. */
function agreement(form: Form, value: unknown): number {
  const within = form.anyOf ?? form.oneOf;
  if (within) return Math.max(...within.map((one) => agreement(one, value)));
  if (Array.isArray(value)) return form.items && value.length > 0 && fitsType(form.items, value[0]) ? 1 : 0;
  if (!isObject(value)) return 0;
  const { properties = {}, required = [], additionalProperties } = form;
  let sum = 0;
  for (const [name, field] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) {
      if (required.includes(name)) sum -= 1;
    } else if (field.const !== undefined) sum += field.const === value[name] ? 1000 : -1000;
    else sum += fitsType(field, value[name]) ? 2 : 1;
  }
  if (additionalProperties === false) for (const name in value) if (!Object.hasOwn(properties, name)) sum -= 1;
  return sum;
}
