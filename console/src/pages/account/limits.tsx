/** What bounds the account: its spending, its rate of requests and its quotas, with what is used of each. */
import { useState } from "react";
import type { Answer, Ask } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { updateAccount } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { durationText, Money, moneyText } from "../../design/facts.tsx";
import { Facts, Loaded, Panel, Refused } from "../../design/layout.tsx";
import { Meter } from "../../design/meter.tsx";
import { Reason } from "../../design/reason.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { quotaLabel } from "../../parts/quotas.ts";
import css from "./account.module.css";
import { AccountPage } from "./frame.tsx";

type Account = Answer<"getAccount">;

export function Limits() {
  const account = useRead("getAccount", {}, { refetchInterval: 15_000 });
  return (
    <AccountPage name="Limits" curl={curlOf("getAccount")}>
      <Loaded read={account}>
        {(data) => (
          <>
            <Spending account={data} />
            <Quotas quotas={data.limits.quotas} />
            <Requests windows={data.limits.requests} />
          </>
        )}
      </Loaded>
    </AccountPage>
  );
}

function Quotas({ quotas }: { quotas: Account["limits"]["quotas"] }) {
  return (
    <Panel
      title="Quotas"
      about="What the account may have at once. The operator of the installation sets them. Without a bar, only the machines are the limit."
    >
      <div className={css.meters}>
        {Object.entries(quotas).map(([name, { limit, used }]) => (
          <Meter key={name} label={quotaLabel(name)} used={used} most={limit ?? undefined} />
        ))}
      </div>
    </Panel>
  );
}

function Requests({ windows }: { windows: Account["limits"]["requests"] }) {
  return (
    <Panel
      title="Rate of requests"
      about="All keys and sessions of one person count together. The answer to what is beyond is 429, with when to try again."
    >
      {windows.length === 0 ? (
        <p className="quiet">No rate limit holds for you.</p>
      ) : (
        <div className={css.meters}>
          {windows.map(({ window, used, limit, resetSeconds }) => (
            <div key={window}>
              <Meter label={`Each ${window}`} used={used} most={limit} />
              <p className={css.help}>Free again in {durationText(resetSeconds * 1000)}</p>
            </div>
          ))}
        </div>
      )}
    </Panel>
  );
}

/** Of two limits the lower one holds; 0 is none. */
function limitOf({ spendLimit, spendLimitMost }: Account): number | undefined {
  const limits = [spendLimit, spendLimitMost].filter((limit) => limit > 0);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

const orNone = (usd: number) => (usd > 0 ? <Money usd={usd} per="month" /> : "none");

function Spending({ account }: { account: Account }) {
  const [isChanging, setChanging] = useState(false);
  const mayNot = useMayNot("account:write");
  return (
    <>
      <Reason text={account.refusal} code={account.refusalCode} tone="bad" />
      <Panel
        title="Spending"
        about="At a limit nothing new starts. What runs goes on."
        actions={
          <Button size="small" refused={mayNot} onClick={() => setChanging(true)}>
            Change
          </Button>
        }
      >
        <div className={css.stack}>
          <Meter label="This month (UTC)" used={account.spentThisMonth} most={limitOf(account)} format={moneyText} />
          <Facts
            rows={[
              ["Own limit", orNone(account.spendLimit)],
              ["Operator's limit", orNone(account.spendLimitMost)],
              account.balance !== null && ["Credit left", <Money key="balance" usd={account.balance} />],
              ["Warnings go to", account.spendWebhook ?? "nowhere"],
            ]}
          />
        </div>
      </Panel>
      {isChanging && <Change account={account} onClose={() => setChanging(false)} />}
    </>
  );
}

function Change({ account, onClose }: { account: Account; onClose: () => void }) {
  const [value, setValue] = useState<Values>({ spendLimit: account.spendLimit });
  const update = useWrite("updateAccount", {
    changes: ["getAccount"],
    onSuccess: () => {
      onClose();
      say("The limits were saved");
    },
  });
  const faults = faultsOf(update.error);
  return (
    <Dialog isOpen onClose={onClose} title="What the account may spend">
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate({ body: value as Ask<"updateAccount">["body"] });
        }}
      >
        <SchemaForm schema={updateAccount} value={value} onChange={setValue} faults={faults} />
        {update.error && faults.size === 0 && <Refused refusal={update.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" isBusy={update.isPending}>
            Save
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
