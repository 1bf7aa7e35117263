/** API keys: made with the scopes that their programs need, shown once, revoked when no longer needed. */
import type { ApiKey } from "@millrace/platform/resources/account/model.ts";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm } from "../../design/dialog.tsx";
import { Id, Money, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import { CreateKey } from "./create-key.tsx";
import { AccountPage } from "./frame.tsx";

const columns: Column<ApiKey>[] = [
  { id: "name", title: "Name", value: ({ name }) => name ?? "Without a name" },
  {
    id: "scopes",
    title: "May do",
    value: ({ scopes }) => scopes.join(" "),
    cell: ({ scopes }) => <Scopes scopes={scopes} />,
  },
  {
    id: "endpoints",
    title: "Endpoints",
    value: ({ endpoints }) => endpoints?.join(" ") ?? "all",
    cell: ({ endpoints }) =>
      endpoints ? <span title={endpoints.join("\n")}>{endpoints.length} of them</span> : "all endpoints",
  },
  {
    id: "used",
    title: "Last used",
    value: ({ lastUsedAt }) => lastUsedAt,
    cell: ({ lastUsedAt }) => (lastUsedAt ? <When at={lastUsedAt} /> : <span className="quiet">never used</span>),
  },
  {
    id: "ends",
    title: "Expires",
    value: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => (expiresAt ? <When at={expiresAt} /> : "never"),
  },
  {
    id: "limit",
    title: "Spend limit",
    value: ({ spendLimit }) => spendLimit,
    cell: ({ spendLimit }) => (spendLimit ? <Money usd={spendLimit} per="month" /> : "none"),
    isNumber: true,
  },
  {
    id: "created",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "exempt", title: "Exempt from rate limits", value: ({ exempt }) => (exempt ? "yes" : "no"), isExtra: true },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

/** The first of them; the rest is on hover. */
const SHOWN_SCOPES = 2;

function Scopes({ scopes }: { scopes: readonly string[] }) {
  const more = scopes.length - SHOWN_SCOPES;
  return (
    <span title={scopes.join("\n")}>
      {scopes.slice(0, SHOWN_SCOPES).join(", ")}
      {more > 0 && <span className="quiet"> and {more} more</span>}
    </span>
  );
}

export function ApiKeys() {
  const { rows, error, refetch, more } = useList<ApiKey>({ list: "listApiKeys", key: "apiKeys" });
  const [doing, setDoing] = useView("do");
  const [revoked, setRevoked] = useState<ApiKey>();
  const mayNot = useMayNot("api-keys:write");
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setDoing("create")}>
      Create API key
    </Button>
  );
  return (
    <AccountPage name="API keys" curl={curlOf("listApiKeys")} actions={button}>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="api-keys"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          rowActions={(key) => (
            <Button
              size="small"
              kind="danger"
              refused={mayNot}
              aria-label={`Revoke ${key.name ?? key.id}`}
              onClick={() => setRevoked(key)}
            >
              Revoke
            </Button>
          )}
          empty={
            <Empty title="No API keys yet" action={button}>
              Programs use a key to call the API. Give each program its own, with the scopes it needs.
            </Empty>
          }
        />
      )}
      <CreateKey isOpen={doing === "create"} onClose={() => setDoing(undefined)} />
      {revoked && <Revoke apiKey={revoked} onClose={() => setRevoked(undefined)} />}
    </AccountPage>
  );
}

function Revoke({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const name = apiKey.name ?? apiKey.id;
  const revoke = useWrite("deleteApiKey", {
    changes: ["listApiKeys"],
    onSuccess: () => {
      onClose();
      say(`${name} was revoked`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Revoke ${name}?`}
      verb="Revoke"
      isBusy={revoke.isPending}
      refusal={revoke.error}
      onConfirm={() => revoke.mutate({ params: { id: apiKey.id } })}
    >
      Programs that use it are refused from now on.{" "}
      {apiKey.lastUsedAt ? (
        <>
          It was last used <When at={apiKey.lastUsedAt} />.
        </>
      ) : (
        "It was never used."
      )}
    </Confirm>
  );
}
