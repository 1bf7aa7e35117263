/** A field that has one of several forms: the choice of the form, and the fields of that one. */
import type { ReactNode } from "react";
import { SelectField } from "../design/field.tsx";
import { type FieldShape, labelOf, type Schema, variantKey, variantsOf } from "./schema.ts";
import css from "./schema-form.module.css";

type Values = Record<string, unknown>;

interface VariantsFieldProps {
  label: ReactNode;
  help?: ReactNode;
  fault?: string | undefined;
  isOptional?: boolean;
  shape: FieldShape;
  value: Values | undefined;
  onChange: (value: unknown) => void;
  cleared: null | undefined;
  /** Draws the fields of the chosen form. */
  draw: (variant: Schema, change: (value: Values) => void) => ReactNode;
}

const UNSET = "";

export function VariantsField({ shape, value, onChange, cleared, draw, ...common }: VariantsFieldProps) {
  const key = variantKey(shape.schema)!;
  const variants = variantsOf(shape.schema);
  const chosen = value?.[key] as string | undefined;
  const variant = chosen === undefined ? undefined : variants.get(chosen);
  const options = [...variants.keys()].map((word) => ({ value: word, label: labelOf(word.toLowerCase()) }));
  return (
    <div className={css.group}>
      <SelectField
        {...common}
        value={chosen ?? UNSET}
        options={common.isOptional ? [{ value: UNSET, label: "As by default" }, ...options] : options}
        onChange={(word) => onChange(word === UNSET ? cleared : { [key]: word })}
      />
      {variant && draw(variant, (next) => onChange({ ...next, [key]: chosen }))}
    </div>
  );
}
