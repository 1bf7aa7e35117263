/** What the account deployed from the hub, and whether it works. */
import type { HubDeployment } from "@millrace/platform/resources/hub/model.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Status, type Tone, When } from "../../design/facts.tsx";
import { Empty, Loaded } from "../../design/layout.tsx";
import { ShortReason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";

export const TEST_TONES: Record<HubDeployment["test"], Tone> = {
  NONE: "idle",
  RUNNING: "wait",
  PASSED: "good",
  FAILED: "bad",
};

export const TEST_WORDS: Record<HubDeployment["test"], string> = {
  NONE: "NOT_TESTED",
  RUNNING: "TESTING",
  PASSED: "PASSED",
  FAILED: "FAILED",
};

type Named = HubDeployment & { name: string | undefined };

const columns: Column<Named>[] = [
  {
    id: "name",
    title: "Name",
    value: ({ name, id }) => name ?? id,
    cell: ({ name, id }) => (name === undefined ? <code>{id}</code> : name),
  },
  {
    id: "test",
    title: "Test",
    value: ({ test }) => test,
    cell: ({ test }) => <Status value={TEST_WORDS[test]} tone={TEST_TONES[test]} />,
  },
  {
    id: "why",
    title: "Why",
    value: ({ testReason }) => testReason ?? "",
    cell: ({ testReason }) => <ShortReason text={testReason} code={undefined} />,
    isWide: true,
  },
  { id: "title", title: "Listing", value: ({ title }) => title },
  { id: "type", title: "Made", value: ({ type }) => (type === "POD" ? "Pod" : "Endpoint") },
  { id: "update", title: "Update", value: ({ updateTo }) => (updateTo ? "A newer release is there" : "") },
  {
    id: "createdAt",
    title: "Deployed",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
];

export function Deployments() {
  const read = useRead("listHubDeployments", { query: { limit: 1000 } }, { refetchInterval: 5000 });
  const endpoints = useRead("listEndpoints", {}).data?.endpoints ?? [];
  const pods = useRead("listPods", {}).data?.pods ?? [];
  const names = new Map([...endpoints, ...pods].map(({ id, name }) => [id, name]));
  const empty = (
    <Empty title="Nothing was deployed yet">
      Choose a listing: it becomes an endpoint or a Pod of your account, and its tests run on it.
    </Empty>
  );
  return (
    <Loaded read={read}>
      {({ deployments }) => (
        <DataTable
          name="hub-deployments"
          rows={deployments.map((one) => ({ ...one, name: names.get(one.id) }))}
          columns={columns}
          idOf={({ id }) => id}
          linkTo={({ id }) => `/hub/deployments/${id}`}
          empty={empty}
        />
      )}
    </Loaded>
  );
}
