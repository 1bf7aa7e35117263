/** Every field of a record by its model, below what the page chose to show. */
import { ChevronRight } from "lucide-react";
import { Hint } from "../design/button.tsx";
import { Facts } from "../design/layout.tsx";
import css from "./all-fields.module.css";
import { FieldValue, type Model, recordFields } from "./derived.tsx";

export function AllFields({ model, record }: { model: Model; record: object }) {
  const values = record as Record<string, unknown>;
  const fields = recordFields(model);
  return (
    <details className={css.all}>
      <summary>
        <ChevronRight /> All fields
        <span className="quiet numbers">{fields.length}</span>
      </summary>
      <div className={css.fields}>
        <Facts
          rows={fields.map((field) => [
            <FieldName key={field.name} label={field.label} about={field.schema.description} />,
            <FieldValue key={field.name} field={field} value={values[field.name]} />,
          ])}
        />
      </div>
    </details>
  );
}

function FieldName({ label, about }: { label: string; about: string | undefined }) {
  if (!about) return label;
  return (
    <Hint text={about.replaceAll("`", "")}>
      <span>{label}</span>
    </Hint>
  );
}
