/** What the owner of the installation does with accounts: create, bound, credit, delete. */
import { LARGEST_QUOTA } from "@millrace/platform/resources/account/model.ts";
import {
  CreateInstallationAccount,
  Credit,
  type InstallationAccount,
  UpdateInstallationAccount,
} from "@millrace/platform/resources/administration/model.ts";
import { type ReactNode, useState } from "react";
import type { Ask } from "../../api/client.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { countText, moneyText } from "../../design/facts.tsx";
import { NumberField } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Special, type Values } from "../../forms/schema-form.tsx";
import { quotaLabel, quotaText } from "../../parts/quotas.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import css from "./installation.module.css";

interface AccountProps {
  account: InstallationAccount;
  onClose: () => void;
}

interface FormProps {
  title: string;
  about?: string;
  verb: string;
  isDanger?: boolean;
  schema: object;
  value: Values;
  onChange: (value: Values) => void;
  /** Shown at once and in this order. All others are under "More settings". Without it all are shown. */
  first?: readonly string[];
  without?: readonly string[];
  specials?: Readonly<Record<string, Special>>;
  write: { error: Refusal | null; isPending: boolean };
  onSubmit: () => void;
  onClose: () => void;
  more?: ReactNode;
}

/** A form made from a schema, in a dialog. */
export function FormDialog(props: FormProps) {
  const { title, about, verb, schema, value, onChange, first, without, specials, write, onSubmit, onClose } = props;
  const { more, isDanger } = props;
  const faults = faultsOf(write.error);
  return (
    <Dialog isOpen onClose={onClose} title={title} about={about}>
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <SchemaForm
          schema={schema}
          value={value}
          onChange={onChange}
          faults={faults}
          {...(first && { first })}
          {...(without && { without })}
          {...(specials && { specials })}
        />
        {write.error && faults.size === 0 && <Refused refusal={write.error} />}
        <DialogFoot onCancel={onClose} beside={more}>
          <Button type="submit" kind={isDanger ? "danger" : "primary"} isBusy={write.isPending}>
            {verb}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

export function CreateAccount({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [value, setValue] = useState<Values>({});
  const create = useWrite("createInstallationAccount", { changes: ["listInstallationAccounts"] });
  const close = () => {
    onClose();
    create.reset();
    setValue({});
  };
  if (!isOpen) return null;
  if (create.data) {
    return (
      <ShownOnce
        isOpen
        onClose={close}
        title={`${create.data.name} is ready`}
        about="This key may do everything in the account. It is not shown again."
        secrets={[
          { label: "API key", text: create.data.key },
          { label: "Sign in as its owner", text: `./millrace open --account ${create.data.name}` },
        ]}
      />
    );
  }
  return (
    <FormDialog
      title="Create an account"
      about="What one account has does not exist for another."
      verb="Create account"
      schema={CreateInstallationAccount}
      value={value}
      onChange={setValue}
      write={create}
      onSubmit={() => create.mutate({ body: value as Ask<"createInstallationAccount">["body"] })}
      onClose={close}
    />
  );
}

function useChange(onClose: () => void) {
  return useWrite("updateInstallationAccount", {
    changes: ["listInstallationAccounts", "getAccount"],
    onSuccess: () => {
      onClose();
      say("The limits were saved");
    },
  });
}

/** A quota that was cleared returns to that of the installation. */
function changedQuotas(before: InstallationAccount["quotas"], after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => (before as Values)[name] !== after[name]);
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}

interface QuotasProps {
  value: Values;
  onChange: (value: Values) => void;
  /** What counts where nothing is set. */
  limits: InstallationAccount["limits"];
  /** Undefined until it is counted. */
  used: InstallationAccount["used"];
}

function Quotas({ value, onChange, limits, used }: QuotasProps) {
  return (
    <fieldset className={css.quotas}>
      <legend className={css.legend}>Quotas</legend>
      {Object.entries(limits).map(([name, most]) => (
        <NumberField
          key={name}
          label={quotaLabel(name)}
          value={value[name] as number | undefined}
          onChange={(next) => onChange({ ...value, [name]: next })}
          min={0}
          max={LARGEST_QUOTA}
          placeholder={quotaText(most)}
          help={used && `${countText(used[name as keyof typeof used])} in use`}
        />
      ))}
    </fieldset>
  );
}

const WINDOWS = ["minute", "hour", "day"] as const;

/** All three are set, or none: then those of the installation apply. */
function RequestLimits({ value, onChange }: { value: Values; onChange: (value: Values | null) => void }) {
  const change = (next: Values) => onChange(WINDOWS.some((name) => next[name] !== undefined) ? next : null);
  return (
    <fieldset className={css.windows}>
      <legend className={css.legend}>Requests of each person</legend>
      {WINDOWS.map((name) => (
        <NumberField
          key={name}
          label={`${name === "hour" ? "An" : "A"} ${name}`}
          value={value[name] as number | undefined}
          onChange={(next) => change({ ...value, [name]: next })}
          min={1}
          placeholder="as all"
        />
      ))}
    </fieldset>
  );
}

export function SetLimits({ account, onClose }: AccountProps) {
  const { name, requestLimits, spendLimitMost, quotas: own } = account;
  const [value, setValue] = useState<Values>({ name, requestLimits, spendLimitMost, quotas: own });
  const used = useRead("getInstallationAccount", { params: { id: account.id } }).data?.used;
  const update = useChange(onClose);
  const submit = () => {
    const quotas = changedQuotas(account.quotas, (value.quotas as Values | undefined) ?? {});
    const body = { ...value, quotas: Object.keys(quotas).length > 0 ? quotas : undefined };
    update.mutate({ params: { id: account.id }, body: body as Ask<"updateInstallationAccount">["body"] });
  };
  return (
    <FormDialog
      title={`What ${account.name} may have`}
      about="An empty quota is that of the installation. What the account already has stays."
      verb="Save"
      schema={UpdateInstallationAccount}
      value={value}
      onChange={setValue}
      without={["balance", "suspended", "suspendedReason", "spendWebhook"]}
      specials={{
        requestLimits: ({ value: limits, onChange }) => (
          <RequestLimits value={(limits as Values | null) ?? {}} onChange={onChange} />
        ),
        quotas: ({ value: quotas, onChange }) => (
          <Quotas
            value={(quotas as Values | undefined) ?? {}}
            onChange={onChange}
            limits={account.limits}
            used={used}
          />
        ),
      }}
      write={update}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

export function AddCredit({ account, onClose }: AccountProps) {
  const [value, setValue] = useState<Values>({});
  const credit = useWrite("creditInstallationAccount", {
    changes: ["listInstallationAccounts", "getAccount"],
    onSuccess: () => {
      onClose();
      say("The credit was added");
    },
  });
  const forget = useChange(onClose);
  const [isForgetting, setForgetting] = useState(false);
  const { balance } = account;
  if (isForgetting && balance !== null)
    return (
      <Confirm
        isOpen
        onClose={() => setForgetting(false)}
        title={`Forget the balance of ${account.name}?`}
        verb="Forget the balance"
        isBusy={forget.isPending}
        refusal={forget.error}
        onConfirm={() => forget.mutate({ params: { id: account.id }, body: { balance: null } })}
      >
        Its {moneyText(balance)} are forgotten, and it can spend without credit again, up to its limits.
      </Confirm>
    );
  return (
    <FormDialog
      title={`Add credit to ${account.name}`}
      about={
        balance === null
          ? "It has no balance so far, and needs none. With its first credit it gets one, and starts nothing new once that is used up."
          : `It has ${moneyText(balance)} left, and starts nothing new once that is used up.`
      }
      verb="Add credit"
      schema={Credit}
      value={value}
      onChange={setValue}
      write={credit}
      onSubmit={() =>
        credit.mutate({ params: { id: account.id }, body: value as Ask<"creditInstallationAccount">["body"] })
      }
      onClose={onClose}
      more={
        balance !== null && (
          <span className={css.apart}>
            <Button kind="quiet" onClick={() => setForgetting(true)}>
              Forget the balance…
            </Button>
          </span>
        )
      }
    />
  );
}

export function DeleteAccount({ account, onClose }: AccountProps) {
  const remove = useWrite("deleteInstallationAccount", {
    changes: ["listInstallationAccounts"],
    onSuccess: () => {
      onClose();
      say(`${account.name} was deleted`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Delete ${account.name}?`}
      verb="Delete"
      typed={account.name}
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ params: { id: account.id } })}
    >
      Everything it has goes for good: endpoints with their jobs, Pods, volumes with their files, secrets, keys and
      people.
    </Confirm>
  );
}
