/** One public endpoint: how to call it, what it costs and, for the account that shares it, who uses it. */
import type { PublicEndpoint, PublicEndpointUse } from "@millrace/platform/resources/public-endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import type { Column } from "../../design/column.ts";
import { Duration, Id, Money, When } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { priceText } from "./price.ts";

export function PublicEndpointPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getPublicEndpoint", { params: { id } });
  return <Loaded read={read}>{(shared) => <Shown shared={shared} />}</Loaded>;
}

const limitText = (limit: number, per: string) => (limit === 0 ? "Any number" : `${limit} ${per}`);

function Shown({ shared }: { shared: PublicEndpoint }) {
  const [isEnding, setEnding] = useState(false);
  const mayNot = useMayNot("serverless:write");
  const { limits } = shared;
  return (
    <Page
      title={shared.title || shared.name}
      about={shared.description || "Public endpoint"}
      curl={curlOf("getPublicEndpoint", { params: { id: shared.id } })}
      actions={
        shared.own && (
          <>
            <ButtonLink to="/serverless/$id" params={{ id: shared.endpointId ?? "" }}>
              Open the endpoint
            </ButtonLink>
            <Button kind="danger" refused={mayNot} onClick={() => setEnding(true)}>
              Stop sharing
            </Button>
          </>
        )
      }
    >
      <Panel>
        <Facts
          rows={[
            ["Name", <Id key="name" value={shared.name} />],
            ["Price", priceText(shared)],
            ["Requests", limitText(limits.requestsPerMinute, "a minute for each account")],
            ["Jobs", limitText(limits.jobsAtOnce, "at once for each account")],
            ["Workers", shared.workerPerAccount ? "each serves one account only" : "all accounts share them"],
            ["Shared", <When key="shared" at={shared.createdAt} />],
          ]}
        />
      </Panel>
      <Panel title="Call it" about="With a key of your own account. The job and its result are yours alone.">
        <Code
          text={
            shared.type === "LOAD_BALANCER"
              ? `curl ${shared.requestUrl}/ -H "Authorization: Bearer $MILLRACE_API_KEY"`
              : `curl -X POST ${shared.requestUrl}/runsync -H "Authorization: Bearer $MILLRACE_API_KEY" -H 'Content-Type: application/json' -d '{"input":{}}'`
          }
        />
      </Panel>
      {shared.own && <Use name={shared.id} />}
      {shared.own && !mayNot && (
        <EditForm
          resource={resources.publicEndpoints}
          record={shared}
          first={["title", "description", "everyone", "accounts", "price", "limits", "workerPerAccount"]}
        />
      )}
      <DeleteDialog
        resource={resources.publicEndpoints}
        record={shared}
        isOpen={isEnding}
        onClose={() => setEnding(false)}
      >
        Other accounts can no longer call <strong>{shared.name}</strong>, and no longer read their jobs there. The
        endpoint stays.
      </DeleteDialog>
    </Page>
  );
}

const columns: Column<PublicEndpointUse>[] = [
  { id: "account", title: "Account", value: ({ accountName, accountId }) => accountName || accountId },
  { id: "requests", title: "Requests", value: ({ requests }) => requests },
  {
    id: "time",
    title: "Workers busy",
    value: ({ executionMs }) => executionMs,
    cell: ({ executionMs }) => <Duration ms={executionMs} />,
  },
  { id: "in", title: "Input tokens", value: ({ inputTokens }) => inputTokens },
  { id: "out", title: "Output tokens", value: ({ outputTokens }) => outputTokens },
  { id: "amount", title: "Owes", value: ({ amount }) => amount, cell: ({ amount }) => <Money usd={amount} /> },
];

/** Of this month. */
function Use({ name }: { name: string }) {
  const read = useRead("getPublicEndpointUse", { params: { id: name }, query: { bucketSize: "month", lastN: 1 } });
  return (
    <Panel title="Who uses it" about="This month, by account." isFlush>
      <Loaded read={read}>
        {({ use, income, cost }) => (
          <>
            <Facts
              rows={[
                ["It brought", <Money key="income" usd={income} />],
                ["Its workers cost", <Money key="cost" usd={cost} />],
              ]}
            />
            <DataTable
              name="public-endpoint-use"
              rows={use}
              columns={columns}
              idOf={({ accountId }) => accountId}
              empty="Nobody has used it this month."
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
