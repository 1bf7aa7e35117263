/** A form made from a schema: a new optional field of a model appears here without a line of the console. */
import { Collapsible } from "@base-ui/react/collapsible";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { Described } from "../design/described.tsx";
import { NumberField, SelectField, SwitchField, TextField, Tick } from "../design/field.tsx";
import { faultWithin } from "./faults.ts";
import { type FieldShape, fieldsOf, labelOf, type Schema, unitOf, variantKey } from "./schema.ts";
import css from "./schema-form.module.css";
import { JsonField, MapField, WordsField } from "./structured-fields.tsx";
import { VariantsField } from "./variants-field.tsx";

export type Values = Record<string, unknown>;

/** A control of a page's own for one field, such as the cards of GPU types. */
export type Special = (field: {
  value: unknown;
  onChange: (value: unknown) => void;
  fault: string | undefined;
  shape: FieldShape;
  /** The whole form, for a control that also sets other fields. */
  values: Values;
  onValues: (values: Values) => void;
}) => ReactNode;

interface SchemaFormProps {
  schema: object;
  value: Values;
  onChange: (value: Values) => void;
  /** By the path of a field, such as `workers.max`: what the server said about it. */
  faults?: ReadonlyMap<string, string>;
  /** Shown at once and in this order. All others are under "More settings". Without it all are shown. */
  first?: readonly string[];
  /** Fields that the page asks for elsewhere. */
  without?: readonly string[];
  specials?: Readonly<Record<string, Special>>;
  /** Fields that have to be there now, though the model leaves them out where others say the same. */
  needed?: readonly string[];
  path?: string;
}

export function SchemaForm({
  schema,
  value,
  onChange,
  faults,
  first,
  without = [],
  specials = {},
  needed = [],
  path = "",
}: SchemaFormProps) {
  const fields = fieldsOf(schema as Schema)
    .filter(({ name }) => !without.includes(name))
    .map((shape) => (needed.includes(shape.name) ? { ...shape, isOptional: false } : shape));
  const named = first ?? fields.map(({ name }) => name);
  const shown = named.flatMap((name) => fields.filter((field) => field.name === name));
  const others = fields.filter(({ name }) => !named.includes(name));
  const draw = (shape: FieldShape) => (
    <SchemaField
      key={shape.name}
      shape={shape}
      path={path === "" ? shape.name : `${path}.${shape.name}`}
      value={value[shape.name]}
      faults={faults}
      special={specials[shape.name]}
      whole={{ values: value, onValues: onChange }}
      onChange={(next) => {
        const { [shape.name]: _, ...rest } = value;
        onChange(next === undefined ? rest : { ...rest, [shape.name]: next });
      }}
    />
  );
  const hasFault = others.some(
    ({ name }) => faults && [...faults.keys()].some((key) => key === name || key.startsWith(`${name}.`)),
  );
  return (
    <div className={css.form}>
      {shown.map(draw)}
      {others.length > 0 && (
        <Collapsible.Root defaultOpen={hasFault}>
          <Collapsible.Trigger className={css.more!}>
            <ChevronRight /> More settings
            <span className="quiet">
              {others
                .map(({ label }) => inSentence(label))
                .slice(0, 5)
                .join(", ")}
              {others.length > 5 ? " …" : ""}
            </span>
          </Collapsible.Trigger>
          <Collapsible.Panel className={css.panel!}>
            <div className={css.form}>{others.map(draw)}</div>
          </Collapsible.Panel>
        </Collapsible.Root>
      )}
    </div>
  );
}

/** `Idle timeout` as `idle timeout`, and `GPU` as it is. */
const inSentence = (label: string) =>
  /^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label;

interface FieldProps {
  shape: FieldShape;
  path: string;
  value: unknown;
  onChange: (value: unknown) => void;
  faults: ReadonlyMap<string, string> | undefined;
  special: Special | undefined;
  whole: { values: Values; onValues: (values: Values) => void };
}

function SchemaField({ shape, path, value, onChange, faults, special, whole }: FieldProps) {
  const { schema, kind, label, isOptional, isNullable } = shape;
  const fault = faults?.get(path);
  if (special) return special({ value, onChange, fault: faultWithin(faults, path), shape, ...whole });
  const help = schema.description && <Described text={schema.description} />;
  const common = { label, help, fault, isOptional };
  const unset =
    schema.default === undefined || schema.default === "" || typeof schema.default === "object"
      ? undefined
      : String(schema.default);
  const cleared = isNullable ? null : undefined;
  switch (kind) {
    case "switch":
      return (
        <SwitchField
          label={label}
          help={help}
          value={(value ?? schema.default ?? false) === true}
          onChange={onChange}
        />
      );
    case "number":
      return (
        <NumberField
          {...common}
          value={(value as number | undefined) ?? undefined}
          onChange={(next) => onChange(next ?? cleared)}
          min={schema.minimum}
          max={schema.maximum}
          isWhole={schema.type === "integer"}
          placeholder={unset}
          unit={unitOf(schema)}
        />
      );
    case "choice":
      return (
        <SelectField
          {...common}
          value={(value ?? schema.default) as string | undefined}
          onChange={onChange}
          options={schema.enum!.map((word) => ({ value: word, label: word }))}
        />
      );
    case "secret":
      return (
        <TextField
          {...common}
          value={(value as string) ?? ""}
          onChange={(next) => onChange(next === "" ? cleared : next)}
          isCode
          lines={3}
          autoComplete="new-password"
        />
      );
    case "long":
    case "text":
      return (
        <TextField
          {...common}
          value={(value as string) ?? ""}
          onChange={(next) => onChange(next === "" && isOptional ? cleared : next)}
          {...(unset !== undefined && { placeholder: unset })}
          {...(kind === "long" && { lines: 3 })}
          {...(schema.maxLength !== undefined && { maxLength: schema.maxLength })}
        />
      );
    case "choices":
      return (
        <fieldset className={css.choices}>
          <legend className={css.legend}>{label}</legend>
          {schema.items!.enum!.map((word) => {
            const chosen = (value as string[]) ?? [];
            return (
              <Tick
                key={word}
                label={word}
                value={chosen.includes(word)}
                onChange={(on) => onChange(on ? [...chosen, word] : chosen.filter((one) => one !== word))}
              />
            );
          })}
          {help && <p className={css.help}>{help}</p>}
        </fieldset>
      );
    case "words":
      return (
        <WordsField
          {...common}
          value={(value as string[]) ?? []}
          onChange={(next) => onChange(next.length === 0 ? undefined : next)}
        />
      );
    case "map":
      return <MapField {...common} value={(value as Record<string, string>) ?? {}} onChange={onChange} />;
    case "group":
      return (
        <fieldset className={css.group}>
          <legend className={css.legend}>
            {label}
            {isOptional && value !== undefined && value !== null && (
              <Button kind="quiet" size="small" onClick={() => onChange(cleared)}>
                Clear
              </Button>
            )}
          </legend>
          {help && <p className={css.help}>{help}</p>}
          {isOptional && (value === undefined || value === null) ? (
            <Button size="small" onClick={() => onChange({})}>
              Set {inSentence(label)}
            </Button>
          ) : (
            <SchemaForm
              schema={schema}
              value={(value as Values) ?? {}}
              onChange={onChange}
              {...(faults && { faults })}
              path={path}
            />
          )}
        </fieldset>
      );
    case "groups": {
      const items = (value as Values[]) ?? [];
      return (
        <fieldset className={css.group}>
          <legend className={css.legend}>{label}</legend>
          {help && <p className={css.help}>{help}</p>}
          {items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: entries of a list have no identity but their place
            <div key={index} className={css.item}>
              <SchemaForm
                schema={schema.items!}
                value={item}
                path={`${path}[${index}]`}
                {...(faults && { faults })}
                onChange={(next) => onChange(items.with(index, next))}
              />
              <Button kind="quiet" size="small" onClick={() => onChange(items.toSpliced(index, 1))}>
                Remove
              </Button>
            </div>
          ))}
          <Button
            size="small"
            refused={schema.maxItems !== undefined && items.length >= schema.maxItems && `At most ${schema.maxItems}`}
            onClick={() => onChange([...items, {}])}
          >
            Add {inSentence(labelOf(shape.name))}
          </Button>
        </fieldset>
      );
    }
    case "variants":
      return (
        <VariantsField
          {...common}
          shape={shape}
          value={(value as Values | null) ?? undefined}
          onChange={onChange}
          cleared={cleared}
          draw={(variant, change) => (
            <SchemaForm
              schema={variant}
              value={(value as Values) ?? {}}
              onChange={change}
              without={[variantKey(schema)!]}
              {...(faults && { faults })}
              path={path}
            />
          )}
        />
      );
    default:
      return <JsonField {...common} value={value} onChange={onChange} />;
  }
}
