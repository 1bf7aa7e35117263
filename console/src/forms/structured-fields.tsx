/** Fields with more than one value: lists of words, maps such as environment variables, and free JSON. */
import { Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { Field } from "../design/field.tsx";
import { faultOfRow } from "./map-rows.ts";
import css from "./schema-form.module.css";

interface Common {
  label: ReactNode;
  help?: ReactNode;
  fault?: string | undefined;
  isOptional?: boolean;
}

/** One word or sentence on each line. */
export function WordsField({
  value,
  onChange,
  ...common
}: Common & { value: readonly string[]; onChange: (value: string[]) => void }) {
  const [text, setText] = useState(value.join("\n"));
  return (
    <Field {...common} help={<>{common.help} One on each line.</>}>
      {({ id, described }) => (
        <textarea
          id={id}
          aria-describedby={described}
          className={css.words}
          rows={Math.min(8, Math.max(2, text.split("\n").length))}
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onChange(target.value.split("\n").filter((line) => line !== ""));
          }}
        />
      )}
    </Field>
  );
}

/** Keeps the form from being sent without what stands in a control that has a fault. */
const refusing = (fault: string | undefined) => (control: HTMLInputElement | HTMLTextAreaElement | null) =>
  control?.setCustomValidity(fault ?? "");

/** Names and values. A text in the form of an `.env` file can be pasted into a name. */
export function MapField({
  value,
  onChange,
  beside,
  ...common
}: Common & {
  value: Readonly<Record<string, string>>;
  onChange: (value: Record<string, string>) => void;
  /** Another way to add one. */
  beside?: ReactNode;
}) {
  const [rows, setRows] = useState<[string, string][]>(() => Object.entries(value));
  const change = (next: [string, string][]) => {
    setRows(next);
    onChange(Object.fromEntries(next.filter(([name]) => name !== "")));
  };
  const paste = (index: number, text: string, event: { preventDefault: () => void }) => {
    const pasted = envLines(text);
    if (pasted.length < 2) return;
    event.preventDefault();
    change([...rows.slice(0, index), ...pasted, ...rows.slice(index + 1)]);
  };
  const faults = rows.map((_, index) => faultOfRow(rows, index));
  return (
    <Field {...common} fault={common.fault ?? faults.find(Boolean)}>
      {({ id, described }) => (
        <div id={id} className={css.rows} aria-describedby={described}>
          {rows.map(([name, content], index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
            <div key={index} className={css.row}>
              <input
                aria-label="Name"
                placeholder="NAME"
                spellCheck={false}
                value={name}
                ref={refusing(faults[index])}
                aria-invalid={faults[index] ? true : undefined}
                onPaste={(event) => paste(index, event.clipboardData.getData("text"), event)}
                onChange={({ target }) => change(rows.with(index, [target.value, content]))}
              />
              <input
                aria-label={`Value of ${name || "the new variable"}`}
                placeholder="value"
                spellCheck={false}
                value={content}
                onChange={({ target }) => change(rows.with(index, [name, target.value]))}
              />
              <IconButton
                label={`Remove ${name || "this row"}`}
                icon={<X />}
                onClick={() => change(rows.toSpliced(index, 1))}
              />
            </div>
          ))}
          <div className={css.adding}>
            <Button size="small" icon={<Plus />} onClick={() => setRows([...rows, ["", ""]])}>
              Add
            </Button>
            {beside}
          </div>
        </div>
      )}
    </Field>
  );
}

/** Lines of an `.env` file: comments and `export` are left out, quotes around a value go. */
function envLines(text: string): [string, string][] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, name, value] = /^\s*(?:export\s+)?([^#=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value!.replace(/^(["'])(.*)\1$/, "$2")] as [string, string]];
  });
}

export function JsonField({
  value,
  onChange,
  ...common
}: Common & { value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [fault, setFault] = useState<string>();
  const read = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() === "" ? undefined : JSON.parse(next));
      setFault(undefined);
    } catch (error) {
      setFault(`This is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <Field {...common} fault={common.fault ?? fault}>
      {({ id, described }) => (
        <textarea
          id={id}
          aria-describedby={described}
          className={css.words}
          rows={Math.min(16, Math.max(2, text.split("\n").length))}
          spellCheck={false}
          value={text}
          ref={refusing(fault)}
          aria-invalid={fault ? true : undefined}
          onChange={({ target }) => read(target.value)}
        />
      )}
    </Field>
  );
}
