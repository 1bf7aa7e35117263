/** The form that makes an API key, from its model, and the key itself, shown once. */
import type { Grant } from "@millrace/platform/kernel/scope.ts";
import { useState } from "react";
import type { Answer, Ask } from "../../api/client.ts";
import { curlFor } from "../../api/curl.ts";
import { useMayNot, useMe } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { createApiKey } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { SelectField, Tick } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Special, type Values } from "../../forms/schema-form.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import css from "./account.module.css";
import { Scopes } from "./scopes.tsx";

const DAY_MS = 86_400_000;
const EXPIRIES = [
  { value: "never", label: "Never" },
  { value: "7", label: "In a week" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
] as const;

const specials: Record<string, Special> = {
  scopes: ({ value, onChange, fault }) => (
    <Scopes value={(value as Grant[] | undefined) ?? []} onChange={onChange} fault={fault} />
  ),
  endpoints: ({ value, onChange, fault }) => (
    <Endpoints value={value as string[] | undefined} onChange={onChange} fault={fault} />
  ),
  expiresAt: ({ onChange, fault }) => <Expiry onChange={onChange} fault={fault} />,
};

function Expiry({ onChange, fault }: { onChange: (value: string | undefined) => void; fault: string | undefined }) {
  const [days, setDays] = useState<(typeof EXPIRIES)[number]["value"]>("never");
  return (
    <SelectField
      label="Expires"
      options={EXPIRIES}
      value={days}
      fault={fault}
      onChange={(next) => {
        setDays(next);
        onChange(next === "never" ? undefined : new Date(Date.now() + Number(next) * DAY_MS).toISOString());
      }}
    />
  );
}

interface EndpointsProps {
  value: string[] | undefined;
  onChange: (value: string[] | undefined) => void;
  fault: string | undefined;
}

function Endpoints({ value, onChange, fault }: EndpointsProps) {
  const read = useRead("listEndpoints", {});
  const all = read.data?.endpoints ?? [];
  const turn = (id: string, on: boolean) => onChange(on ? [...(value ?? []), id] : value?.filter((one) => one !== id));
  return (
    <fieldset>
      <legend className={css.legend}>Endpoints</legend>
      <div className={css.stack}>
        <Tick
          label="Every endpoint, also those made later"
          value={value === undefined}
          onChange={(on) => onChange(on ? undefined : [])}
        />
        {value !== undefined && (
          <div className={css.many}>
            {all.map(({ id, name }) => (
              <Tick key={id} label={name ?? id} value={value.includes(id)} onChange={(on) => turn(id, on)} />
            ))}
            {all.length === 0 && <p className={css.help}>There are no endpoints yet.</p>}
          </div>
        )}
        {value !== undefined && (
          <p className={css.help}>A key narrowed to endpoints works on these, and on nothing else of the account.</p>
        )}
        {fault && <p className={css.fault}>{fault}</p>}
      </div>
    </fieldset>
  );
}

const EMPTY: Values = { scopes: ["serverless:invoke"] };

export function CreateKey({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const me = useMe();
  const mayNot = useMayNot("api-keys:write");
  const [value, setValue] = useState<Values>(EMPTY);
  const create = useWrite("createApiKey", { changes: ["listApiKeys"] });
  const faults = faultsOf(create.error);
  const close = () => {
    onClose();
    create.reset();
    setValue(EMPTY);
  };
  if (create.data) return <Made made={create.data} isOpen={isOpen} onClose={close} />;
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title="Create an API key"
      about="For one program or person each, so that you can revoke it alone."
      isDrawer
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: value as Ask<"createApiKey">["body"] });
        }}
      >
        <SchemaForm
          schema={createApiKey}
          value={value}
          onChange={setValue}
          faults={faults}
          first={["name", "scopes", "endpoints", "expiresAt", "spendLimit"]}
          without={me.data?.ownsInstallation ? [] : ["exempt"]}
          specials={specials}
        />
        {create.error && faults.size === 0 && <Refused refusal={create.error} />}
        <DialogFoot onCancel={close}>
          <Button type="submit" kind="primary" refused={mayNot} isBusy={create.isPending}>
            Create key
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Made({ made, isOpen, onClose }: { made: Answer<"createApiKey">; isOpen: boolean; onClose: () => void }) {
  return (
    <ShownOnce
      isOpen={isOpen}
      onClose={onClose}
      title={`${made.name ?? "Your key"} is ready`}
      about="Copy it now. The server keeps a digest of it and cannot show it again."
      secrets={[{ label: "API key", text: made.key }]}
    >
      <div>
        <p className={css.legend}>Try it</p>
        <Code text={tryIt(made)} />
      </div>
    </ShownOnce>
  );
}

/** A call that the key may make, whatever its scopes are. */
const tryIt = ({ key }: { key: string }) => `export MILLRACE_API_KEY=${key}\n${curlFor("GET", "/v2/account/me")}`;
