/** What the account deployed from the hub, and whether it works. */
import type { HubDeployment } from "@millrace/platform/resources/hub/model.ts";
import { Link } from "@tanstack/react-router";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Status, type Tone, When } from "../../design/facts.tsx";
import { Empty, Loaded } from "../../design/layout.tsx";
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

const columns: Column<HubDeployment>[] = [
  {
    id: "title",
    title: "Listing",
    value: ({ title }) => title,
    cell: ({ id, title }) => (
      <Link to="/hub/deployments/$id" params={{ id }}>
        {title}
      </Link>
    ),
  },
  { id: "type", title: "Made", value: ({ type }) => (type === "POD" ? "Pod" : "Endpoint") },
  {
    id: "test",
    title: "Test",
    value: ({ test }) => test,
    cell: ({ test }) => <Status value={TEST_WORDS[test]} tone={TEST_TONES[test]} />,
  },
  { id: "why", title: "Why", value: ({ testReason }) => testReason ?? "" },
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
  const empty = (
    <Empty title="Nothing was deployed yet">
      Choose a listing: it becomes an endpoint or a Pod of your account, and its tests run on it.
    </Empty>
  );
  return (
    <Loaded read={read}>
      {({ deployments }) => (
        <DataTable name="hub-deployments" rows={deployments} columns={columns} idOf={({ id }) => id} empty={empty} />
      )}
    </Loaded>
  );
}
