/** Fields of forms by hand: a label, the control, help below it, and what is wrong with it. */
import { Checkbox } from "@base-ui/react/checkbox";
import { Select } from "@base-ui/react/select";
import { Switch } from "@base-ui/react/switch";
import { Check, ChevronsUpDown } from "lucide-react";
import { type HTMLInputTypeAttribute, type ReactNode, useId, useState } from "react";
import css from "./field.module.css";

interface Common {
  label: ReactNode;
  help?: ReactNode;
  fault?: string | undefined;
  isOptional?: boolean;
}

interface Ids {
  id: string;
  described: string | undefined;
}

export function Field({ label, help, fault, isOptional, children }: Common & { children: (ids: Ids) => ReactNode }) {
  const id = useId();
  const described = fault ? `${id}-fault` : help ? `${id}-help` : undefined;
  return (
    <div className={css.field}>
      <label htmlFor={id} className={css.label}>
        {label}
        {isOptional && (
          <span className={css.optional} data-optional>
            optional
          </span>
        )}
      </label>
      {children({ id, described })}
      {fault && (
        <p id={`${id}-fault`} className={css.fault}>
          {fault}
        </p>
      )}
      {help && (
        <p id={`${id}-help`} className={css.help}>
          {help}
        </p>
      )}
    </div>
  );
}

interface TextProps extends Common {
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  placeholder?: string;
  isCode?: boolean;
  lines?: number;
  autoFocus?: boolean;
  autoComplete?: string;
  isRequired?: boolean;
  maxLength?: number;
}

export function TextField({
  value,
  onChange,
  type = "text",
  placeholder,
  isCode,
  lines,
  autoFocus,
  autoComplete = "off",
  isRequired,
  maxLength,
  ...common
}: TextProps) {
  return (
    <Field {...common}>
      {({ id, described }) => {
        const shared = {
          id,
          value,
          placeholder,
          maxLength,
          autoFocus,
          autoComplete,
          required: isRequired,
          spellCheck: false,
          "aria-describedby": described,
          "aria-invalid": common.fault ? true : undefined,
          className: `${css.input} ${isCode ? css.code : ""}`,
          onChange: (event: { target: { value: string } }) => onChange(event.target.value),
        } as const;
        return lines ? <textarea rows={lines} {...shared} /> : <input type={type} {...shared} />;
      }}
    </Field>
  );
}

interface NumberProps extends Common {
  value: number | undefined;
  onChange: (value: number | undefined) => void;
  min?: number | undefined;
  max?: number | undefined;
  isWhole?: boolean;
  placeholder?: string | undefined;
  unit?: string | undefined;
}

export function NumberField({ value, onChange, min, max, isWhole = true, placeholder, unit, ...common }: NumberProps) {
  return (
    <Field {...common}>
      {({ id, described }) => (
        <div className={css.withUnit}>
          <input
            id={id}
            type="number"
            className={`${css.input} numbers`}
            value={value ?? ""}
            min={min}
            max={max}
            step={isWhole ? 1 : "any"}
            placeholder={placeholder}
            aria-describedby={described}
            aria-invalid={common.fault ? true : undefined}
            onChange={({ target }) => onChange(target.value === "" ? undefined : Number(target.value))}
          />
          {unit && <span className={css.unit}>{unit}</span>}
        </div>
      )}
    </Field>
  );
}

export interface Option<V extends string = string> {
  value: V;
  label: ReactNode;
  /** What is shown beside it, such as a price. */
  about?: ReactNode;
}

interface SelectProps<V extends string> extends Common {
  value: V | undefined;
  onChange: (value: V) => void;
  options: readonly Option<V>[];
  placeholder?: string;
}

export function SelectField<V extends string>({
  value,
  onChange,
  options,
  placeholder = "Choose",
  ...common
}: SelectProps<V>) {
  return (
    <Field {...common}>
      {({ id, described }) => (
        <Choice
          id={id}
          described={described}
          value={value}
          onChange={onChange}
          options={options}
          placeholder={placeholder}
        />
      )}
    </Field>
  );
}

interface ChoiceProps<V extends string> {
  id?: string;
  described?: string | undefined;
  /** Where no label stands beside it. */
  label?: string;
  value: V | undefined;
  onChange: (value: V) => void;
  options: readonly Option<V>[];
  placeholder?: string;
}

/** A choice of one, without a label of its own. */
export function Choice<V extends string>(props: ChoiceProps<V>) {
  const { id, described, label, value, onChange, options, placeholder = "Choose" } = props;
  // A page has many, and people open few of them: the list is made when its button is first pressed.
  const [isMade, setMade] = useState(false);
  const button = {
    id,
    "aria-describedby": described,
    "aria-label": label,
    className: label === undefined ? css.select! : `${css.select} ${css.inline}`,
  };
  const chosen = options.find((option) => option.value === value)?.label;
  const shown = (
    <>
      <span>{chosen ?? <span className="quiet">{placeholder}</span>}</span>
      <span className={css.selectIcon} aria-hidden="true">
        <ChevronsUpDown />
      </span>
    </>
  );
  if (!isMade) {
    return (
      <button
        type="button"
        role="combobox"
        aria-haspopup="listbox"
        aria-expanded={false}
        {...button}
        onClick={() => setMade(true)}
        onKeyDown={({ key }) => (key === "ArrowDown" || key === "ArrowUp") && setMade(true)}
      >
        {shown}
      </button>
    );
  }
  return (
    <Select.Root defaultOpen value={value ?? null} onValueChange={(next) => next !== null && onChange(next as V)}>
      <Select.Trigger {...button}>{shown}</Select.Trigger>
      <Select.Portal>
        <Select.Positioner sideOffset={4} alignItemWithTrigger={false} className={css.positioner!}>
          <Select.Popup className={css.options!}>
            {options.map((option) => (
              <Select.Item key={option.value} value={option.value} className={css.option!}>
                <Select.ItemIndicator className={css.tick!}>
                  <Check />
                </Select.ItemIndicator>
                <Select.ItemText className={css.optionText!}>{option.label}</Select.ItemText>
                {option.about && <span className={css.optionAbout}>{option.about}</span>}
              </Select.Item>
            ))}
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  );
}

interface SwitchProps {
  label: ReactNode;
  help?: ReactNode;
  value: boolean;
  onChange: (value: boolean) => void;
}

export function SwitchField({ label, help, value, onChange }: SwitchProps) {
  const id = useId();
  return (
    <div className={css.switchRow}>
      <Switch.Root id={id} checked={value} onCheckedChange={onChange} className={css.switch!}>
        <Switch.Thumb className={css.thumb!} />
      </Switch.Root>
      <div>
        <label htmlFor={id} className={css.label}>
          {label}
        </label>
        {help && <p className={css.help}>{help}</p>}
      </div>
    </div>
  );
}

export function Tick({
  label,
  value,
  onChange,
  isHidden,
}: {
  label: string;
  value: boolean | "some";
  onChange: (value: boolean) => void;
  isHidden?: boolean;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is the control
    <label className={css.tickRow}>
      <Checkbox.Root
        checked={value === true}
        indeterminate={value === "some"}
        onCheckedChange={onChange}
        className={css.tickBox!}
      >
        <Checkbox.Indicator className={css.tickMark!}>
          {value === "some" ? <span className={css.some} /> : <Check />}
        </Checkbox.Indicator>
      </Checkbox.Root>
      <span className={isHidden ? "hidden" : undefined}>{label}</span>
    </label>
  );
}
