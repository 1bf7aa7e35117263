/** Accounts of the installation: who owns each, what it spent, and what it may have. */
import type { InstallationAccount } from "@millrace/platform/resources/administration/model.ts";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { countText, Id, Money, Status, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { DataTable } from "../../design/table.tsx";
import { quotaLabel } from "../../parts/quotas.ts";
import { useList } from "../../parts/resource-list.tsx";
import { UsageExport } from "../../parts/usage-export.tsx";
import { AddCredit, CreateAccount, DeleteAccount, SetLimits } from "./account-dialogs.tsx";
import { AccountKeys } from "./account-keys.tsx";
import { ResumeAccount, SuspendAccount } from "./account-suspension.tsx";
import { InstallationPage } from "./frame.tsx";
import css from "./installation.module.css";

type Account = InstallationAccount;

const columns: Column<Account>[] = [
  {
    id: "name",
    title: "Account",
    value: ({ name }) => name,
    cell: ({ name, isFirst }) => (
      <span>
        {name}
        {isFirst && <span className="quiet"> · owns the installation</span>}
      </span>
    ),
  },
  {
    id: "state",
    title: "State",
    value: ({ refusal }) => refusal,
    cell: ({ refusal, suspended, suspendedReason }) => (
      <span className={css.state} title={refusal ?? undefined}>
        <Status
          value={suspended ? "SUSPENDED" : refusal ? "STARTS_NOTHING" : "ACTIVE"}
          tone={refusal || suspended ? "bad" : "good"}
        />
        {(suspendedReason || refusal) && <span className={css.why}>{suspendedReason || refusal}</span>}
      </span>
    ),
  },
  {
    id: "spent",
    title: "Spent this month",
    value: ({ spentThisMonth }) => spentThisMonth,
    cell: ({ spentThisMonth }) => <Money usd={spentThisMonth} />,
    isNumber: true,
  },
  {
    id: "most",
    title: "Spend limit",
    value: ({ spendLimitMost }) => spendLimitMost,
    cell: ({ spendLimitMost }) => (spendLimitMost > 0 ? <Money usd={spendLimitMost} per="month" /> : "none"),
    isNumber: true,
  },
  {
    id: "balance",
    title: "Credit",
    value: ({ balance }) => balance,
    cell: ({ balance }) => (balance === null ? "not kept" : <Money usd={balance} />),
    isNumber: true,
  },
  {
    id: "owner",
    title: "Owner",
    value: ({ owner }) => owner,
    cell: ({ owner }) => (isPlaceholder(owner) ? <span className="quiet">no email yet</span> : owner),
  },
  {
    id: "requests",
    title: "Requests",
    value: ({ requestLimits }) => requestLimits?.minute,
    cell: ({ requestLimits }) =>
      requestLimits ? (
        `${requestLimits.minute ? countText(requestLimits.minute) : "any"} a minute`
      ) : (
        <span className="quiet">as all</span>
      ),
    isExtra: true,
  },
  {
    id: "quotas",
    title: "Own quotas",
    value: ({ quotas }) => textOfQuotas(quotas),
    cell: ({ quotas }) => textOfQuotas(quotas) || <span className="quiet">none</span>,
  },
  {
    id: "created",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

/** What the first owner is called until they say otherwise. */
const isPlaceholder = (owner: string | null) => owner === null || owner.endsWith("@localhost");

const textOfQuotas = (quotas: Account["quotas"]) =>
  Object.entries(quotas)
    .map(([name, most]) => `${quotaLabel(name)} ${countText(most)}`)
    .join(", ");

const DIALOGS = {
  limits: SetLimits,
  credit: AddCredit,
  keys: AccountKeys,
  suspend: SuspendAccount,
  resume: ResumeAccount,
  delete: DeleteAccount,
};

type Asked = { what: keyof typeof DIALOGS; account: Account };

export function Accounts() {
  const { rows, error, refetch, more } = useList<Account>({ list: "listInstallationAccounts", key: "accounts" });
  const [isCreating, setCreating] = useState(false);
  const [isExporting, setExporting] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const Asking = asked && DIALOGS[asked.what];
  return (
    <InstallationPage
      name="Accounts"
      curl={curlOf("listInstallationAccounts")}
      actions={
        <>
          <Button onClick={() => setExporting(true)}>Export usage</Button>
          <Button kind="primary" icon={<Plus />} onClick={() => setCreating(true)}>
            Create account
          </Button>
        </>
      }
    >
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="accounts"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          rowActions={(account) => (
            <Menu
              label={`Actions for ${account.name}`}
              items={[
                { label: "Set quotas and limits", onSelect: () => setAsked({ what: "limits", account }) },
                { label: "Add credit", onSelect: () => setAsked({ what: "credit", account }) },
                { label: "API keys", onSelect: () => setAsked({ what: "keys", account }) },
                account.suspended
                  ? { label: "Resume", onSelect: () => setAsked({ what: "resume", account }) }
                  : {
                      label: "Suspend",
                      isDanger: true,
                      refused: account.isFirst && "The account that owns the installation stays",
                      onSelect: () => setAsked({ what: "suspend", account }),
                    },
                {
                  label: "Delete",
                  isDanger: true,
                  refused: account.isFirst && "The account that owns the installation stays",
                  onSelect: () => setAsked({ what: "delete", account }),
                },
              ]}
            />
          )}
          empty={<Empty title="No accounts">What one account has does not exist for another.</Empty>}
        />
      )}
      {isExporting && (
        <UsageExport
          operation="exportInstallationBilling"
          title="Export usage of all accounts"
          onClose={() => setExporting(false)}
        />
      )}
      <CreateAccount isOpen={isCreating} onClose={() => setCreating(false)} />
      {asked && Asking && <Asking account={asked.account} onClose={close} />}
    </InstallationPage>
  );
}
