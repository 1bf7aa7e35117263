/** A choice of a few words beside each other, and a group of controls under one name. */
import { type ReactNode, useId } from "react";
import css from "./segments.module.css";

interface SegmentsProps<V extends string> {
  label: string;
  value: V;
  options: readonly { value: V; label: string; refused?: string | undefined }[];
  onChange: (value: V) => void;
}

export function Segments<V extends string>({ label, value, options, onChange }: SegmentsProps<V>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: buttons in a row are no fields of a form
    <div className={css.segments} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          aria-disabled={option.refused ? true : undefined}
          title={option.refused}
          onClick={() => !option.refused && onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

interface GroupProps {
  legend: ReactNode;
  help?: ReactNode;
  fault?: string | undefined;
  children: ReactNode;
}

/** Controls that belong together, with what is wrong with them and what they are for. */
export function Group({ legend, help, fault, children }: GroupProps) {
  const id = useId();
  return (
    <fieldset className={css.group} aria-describedby={help ? id : undefined}>
      <legend className={css.legend}>{legend}</legend>
      {children}
      {fault && (
        <p className={css.fault} role="alert">
          {fault}
        </p>
      )}
      {help && (
        <p id={id} className={css.help}>
          {help}
        </p>
      )}
    </fieldset>
  );
}
