/** One public endpoint: what it is, how to call it, what it costs and, for the account that shares it, who uses it. */
import type { PublicEndpoint, PublicEndpointUse } from "@millrace/platform/resources/public-endpoints/model.ts";
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import { CodeTabs } from "../../design/code.tsx";
import type { Column } from "../../design/column.ts";
import { countText, Duration, Money, When } from "../../design/facts.tsx";
import { Facts, Loaded, Panel } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { samplesOf } from "../serverless/samples.ts";
import { PublicEndpointFrame } from "./frame.tsx";
import { priceText, whoMay } from "./price.ts";
import css from "./public-endpoints.module.css";

export function PublicEndpointPage() {
  return <PublicEndpointFrame>{(shared) => <Shown shared={shared} />}</PublicEndpointFrame>;
}

const limitText = (limit: number, per: string) => (limit === 0 ? "Any number" : `${countText(limit)} ${per}`);
/** A first call, as on the page of an endpoint. */
const EXAMPLE = '{"input":{"prompt":"Hello"}}';

function Shown({ shared }: { shared: PublicEndpoint }) {
  const { limits, description, name, own } = shared;
  const called = { origin: location.origin, endpointId: name };
  const samples = samplesOf(
    shared.type === "QUEUE"
      ? { ...called, body: EXAMPLE, mode: "wait" }
      : { ...called, body: "", mode: "http", http: { method: "GET", path: "/" } },
  );
  return (
    <>
      {description && <p>{description}</p>}
      {own && <Use name={shared.id} />}
      <div className={css.columns}>
        <Panel
          title="Call it"
          about="With a key of your own account. The job and its result are yours alone."
          actions={
            <ButtonLink size="small" to="/public-endpoints/$id/try" params={{ id: name }}>
              Try it here
            </ButtonLink>
          }
        >
          <CodeTabs samples={samples} />
        </Panel>
        <Panel title="Price and limits">
          <Facts
            rows={[
              ["Price", priceText(shared)],
              own ? ["May call it", whoMay(shared)] : ["You paid", <Paid key="paid" name={shared.id} />],
              ["Requests", limitText(limits.requestsPerMinute, "a minute for each account")],
              ["Jobs", limitText(limits.jobsAtOnce, "at once for each account")],
              ["Workers", shared.workerPerAccount ? "Each serves one account only" : "All accounts share them"],
              ["Shared", <When key="shared" at={shared.createdAt} />],
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

/** What calls of the signed-in account cost so far. */
function Paid({ name }: { name: string }) {
  const query = { publicEndpoint: name, bucketSize: "month", lastN: 1 } as const;
  const { data } = useRead("listEndpointBilling", { query });
  return (
    <span>
      <Money usd={data?.metadata.totals.totalAmount} /> <span className="quiet">this month</span>
    </span>
  );
}

const columns: Column<PublicEndpointUse>[] = [
  { id: "account", title: "Account", value: ({ accountName, accountId }) => accountName || accountId },
  // A phone shows the first columns only.
  {
    id: "amount",
    title: "Owes",
    value: ({ amount }) => amount,
    cell: ({ amount }) => <Money usd={amount} />,
    isNumber: true,
  },
  { id: "requests", title: "Requests", value: ({ requests }) => requests, isNumber: true },
  {
    id: "time",
    title: "Workers busy",
    value: ({ executionMs }) => executionMs,
    cell: ({ executionMs }) => <Duration ms={executionMs} />,
    isNumber: true,
  },
  { id: "in", title: "Input tokens", value: ({ inputTokens }) => inputTokens, isNumber: true },
  { id: "out", title: "Output tokens", value: ({ outputTokens }) => outputTokens, isNumber: true },
];

/** Most programs report none. */
const withoutTokens = columns.filter(({ id }) => id !== "in" && id !== "out");

/** Of this month. */
function Use({ name }: { name: string }) {
  const read = useRead("getPublicEndpointUse", { params: { id: name }, query: { bucketSize: "month", lastN: 1 } });
  return (
    <Panel title="Who uses it" about="This month, by account." isFlush>
      <Loaded read={read}>
        {({ use, income, cost }) => (
          <>
            <dl className={css.sums}>
              <Sum title="It brought" usd={income} />
              <Sum title="Its workers cost" usd={cost} />
              <Sum title="What is left" usd={income - cost} />
            </dl>
            <DataTable
              name="public-endpoint-use"
              rows={use}
              columns={
                use.some(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0) ? columns : withoutTokens
              }
              idOf={({ accountId }) => accountId}
              empty={<p className={css.nobody}>No other account has used it this month.</p>}
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function Sum({ title, usd }: { title: string; usd: number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <Money usd={usd} />
      </dd>
    </div>
  );
}
