/** Environment variables, with the account's secrets offered for their values. */
import type { Secret } from "@millrace/platform/resources/secrets/model.ts";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { resources } from "../api/resources.ts";
import { Button } from "../design/button.tsx";
import { Described } from "../design/described.tsx";
import { Menu } from "../design/menu.tsx";
import type { Special } from "../forms/schema-form.tsx";
import { MapField } from "../forms/structured-fields.tsx";
import { useList } from "./resource-list.tsx";

export const envField: Special = (field) => <EnvField {...field} />;

/** As the value of a variable. The program gets the secret when it starts. */
const secretReference = (name: string) => `{{ MILLRACE_SECRET_${name} }}`;

function EnvField({ value, onChange, fault, shape }: Parameters<Special>[0]) {
  const { rows: secrets = [] } = useList<Secret>(resources.secrets);
  const env = (value as Record<string, string> | undefined) ?? {};
  // The rows of the field are its own; a variable that is added from outside needs them anew.
  const [added, setAdded] = useState(0);
  const add = (name: string) => {
    onChange({ ...env, [name]: secretReference(name) });
    setAdded(added + 1);
  };
  const fromSecret = secrets.length > 0 && (
    <Menu
      label="Use a secret"
      trigger={
        <Button size="small" kind="quiet" icon={<KeyRound />}>
          Use a secret
        </Button>
      }
      items={secrets.map(({ name }) => ({
        label: name,
        icon: <Plus />,
        refused: name in env && "It is used already",
        onSelect: () => add(name),
      }))}
    />
  );
  return (
    <MapField
      key={added}
      label={shape.label}
      isOptional={shape.isOptional}
      fault={fault}
      help={shape.schema.description && <Described text={shape.schema.description} />}
      value={env}
      onChange={onChange}
      beside={fromSecret}
    />
  );
}
