/** The month so far against the limits of the account, and the form that changes them. */
import type { AccountRecord } from "@millrace/platform/resources/spending/model.ts";
import { useState } from "react";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { updateAccount } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Money } from "../../design/facts.tsx";
import { Facts, Loaded, Panel, Refused } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { useView } from "../../shell/view.ts";
import css from "./billing.module.css";
import { exactText } from "./sums.ts";

const AGAIN_MS = 30_000;

export function Limits() {
  const read = useRead("getAccount", {}, { refetchInterval: AGAIN_MS });
  return (
    <div className={css.limits}>
      <Loaded read={read} lines={3}>
        {(account) => <Shown account={account} />}
      </Loaded>
    </div>
  );
}

/** The lower of the limits that there are. */
function limitOf({ spendLimit, spendLimitMost }: Pick<AccountRecord, "spendLimit" | "spendLimitMost">) {
  const limits = [spendLimit, spendLimitMost].filter((limit) => limit > 0);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

function Shown({ account }: { account: AccountRecord }) {
  const [dialog, setDialog] = useView("dialog");
  const mayNot = useMayNot("account:write");
  const limit = limitOf(account);
  return (
    <>
      <Reason text={account.refusal} code={account.refusalCode} tone="bad">
        {!mayNot && account.refusalCode === "spend-limit" && (
          <Button size="small" onClick={() => setDialog("limits")}>
            Raise the limit
          </Button>
        )}
      </Reason>
      <Panel
        title="This month"
        actions={
          <Button size="small" refused={mayNot} onClick={() => setDialog("limits")}>
            Set limits
          </Button>
        }
      >
        <div className={css.month}>
          <p className={css.spent}>
            <strong>
              <Money usd={account.spentThisMonth} />
            </strong>{" "}
            <span className="quiet">{limit === undefined ? "no limit" : `of ${exactText(limit)}`}</span>
          </p>
          {limit !== undefined && (
            <progress
              className={css.bar}
              max={limit}
              value={Math.min(account.spentThisMonth, limit)}
              aria-label="Spent of the limit"
            />
          )}
          <Facts
            rows={[
              ["Own limit", account.spendLimit > 0 ? exactText(account.spendLimit) : "None"],
              ["Operator's limit", account.spendLimitMost > 0 ? exactText(account.spendLimitMost) : "None"],
              account.balance !== null && ["Balance left", <Money key="balance" usd={account.balance} />],
              ["Warnings go to", account.spendWebhook ?? "Nobody"],
            ]}
          />
        </div>
      </Panel>
      {dialog === "limits" && <SetLimits account={account} mayNot={mayNot} onClose={() => setDialog(undefined)} />}
    </>
  );
}

interface SetLimitsProps {
  account: AccountRecord;
  mayNot: string | undefined;
  onClose: () => void;
}

function SetLimits({ account, mayNot, onClose }: SetLimitsProps) {
  const [value, setValue] = useState<Values>({ spendLimit: account.spendLimit });
  const update = useWrite("updateAccount", {
    changes: ["getAccount"],
    onSuccess: () => {
      onClose();
      say("The limits were set");
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Set limits"
      about="Once a limit is reached nothing new is started. Nothing that runs is ended, and nothing is deleted."
    >
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate({ body: value });
        }}
      >
        <SchemaForm schema={updateAccount} value={value} onChange={setValue} faults={faultsOf(update.error)} />
        {account.spendWebhook && (
          <p className="quiet">
            Warnings go to {account.spendWebhook} now. An empty field leaves that as it is.{" "}
            <Button size="small" kind="quiet" onClick={() => setValue({ ...value, spendWebhook: null })}>
              Send none from now on
            </Button>
          </p>
        )}
        {update.error && <Refused refusal={update.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" refused={mayNot} isBusy={update.isPending}>
            Save limits
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
