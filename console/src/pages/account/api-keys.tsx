/** API keys: made with the scopes that their programs need, shown once, revoked when no longer needed. */
import type { ApiKey } from "@millrace/platform/resources/account/model.ts";
import type { Column } from "../../design/column.ts";
import { Id, Money, When } from "../../design/facts.tsx";
import { CreateKey } from "./create-key.tsx";
import { KeyPage } from "./key-page.tsx";

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

export const ApiKeys = () => (
  <KeyPage<ApiKey>
    one="API key"
    list="listApiKeys"
    listKey="apiKeys"
    scope="api-keys:write"
    columns={columns}
    nameOf={({ name, id }) => name ?? id}
    purpose="Programs use a key to call the API. Give each program its own, with the scopes it needs."
    remove={{ name: "deleteApiKey", verb: "Revoke", done: "revoked", lost: (key) => <Lost apiKey={key} /> }}
    create={(isOpen, close) => <CreateKey isOpen={isOpen} onClose={close} />}
  />
);

function Lost({ apiKey: { lastUsedAt } }: { apiKey: ApiKey }) {
  return (
    <>
      Programs that use it are refused from now on.{" "}
      {lastUsedAt ? (
        <>
          It was last used <When at={lastUsedAt} />.
        </>
      ) : (
        "It was never used."
      )}
    </>
  );
}
