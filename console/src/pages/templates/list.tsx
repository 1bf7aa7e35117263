/** Templates: the account's own, the official ones, and those that others made public. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import type { ReactNode } from "react";
import { useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Choice } from "../../design/field.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { ViewTabs } from "../../design/tabs.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { ResourceList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { columns } from "./columns.tsx";
import { UseTemplate } from "./use.tsx";

type Shown = "own" | "official" | "public";
const ABOUT = "Images with their settings, to make Pods and endpoints from.";

const tabs = (
  <ViewTabs<Shown>
    label="Whose templates"
    name="show"
    fallback="own"
    tabs={[
      { value: "own", label: "Own" },
      { value: "official", label: "Official" },
      { value: "public", label: "Public" },
    ]}
  />
);

export function TemplateList() {
  const [shown] = useView<Shown>("show", "own");
  if (shown === "own") return <OwnTemplates />;
  return shown === "official" ? <OfficialTemplates /> : <PublicTemplates />;
}

/** Filters of the rows that are loaded, kept in the address. */
function useFilters() {
  const [text, setText] = useView<string>("q", "");
  const [use, setUse] = useView<"any" | "pods" | "endpoints">("for", "any");
  const words = text.toLowerCase();
  return {
    fits: ({ name, image, id, serverless }: Template) =>
      `${name} ${image} ${id}`.toLowerCase().includes(words) && (use === "any" || serverless === (use === "endpoints")),
    tools: (
      <>
        <SearchField label="Name or image" value={text} onChange={setText} />
        <Choice
          label="For"
          value={use}
          onChange={setUse}
          options={[
            { value: "any", label: "For anything" },
            { value: "pods", label: "For Pods" },
            { value: "endpoints", label: "For endpoints" },
          ]}
        />
      </>
    ),
  };
}

function OwnTemplates() {
  const { fits, tools } = useFilters();
  return (
    <ResourceList<Template>
      resource={resources.templates}
      title="Templates"
      about={ABOUT}
      columns={columns}
      tabs={tabs}
      tools={tools}
      filter={fits}
      rowActions={(template) => <UseTemplate template={template} size="small" />}
      example={{ name: "my-worker", image: "python:3.13", serverless: true }}
    />
  );
}

function OfficialTemplates() {
  const read = useRead("listPublicTemplates", { query: { source: "official" } });
  return (
    <Others
      read={read}
      rows={read.data?.templates}
      curl={curlOf("listPublicTemplates", { query: { source: "official" } })}
      empty="This installation comes with none."
    />
  );
}

function PublicTemplates() {
  const verified = useRead("listPublicTemplates", { query: { source: "verified" } });
  const community = useRead("listPublicTemplates", { query: { source: "community" } });
  const rows = useMemo(
    () => verified.data && community.data && [...verified.data.templates, ...community.data.templates],
    [verified.data, community.data],
  );
  return (
    <Others
      read={verified.error ? verified : community}
      rows={rows}
      curl={curlOf("listPublicTemplates", { query: { source: "community" } })}
      empty="Nobody made a template public yet. To share one of yours, turn on Public in its settings."
    />
  );
}

interface OthersProps {
  read: { error: ReturnType<typeof useRead<"listPublicTemplates">>["error"]; refetch: () => unknown };
  rows: readonly Template[] | undefined;
  curl: string;
  empty: ReactNode;
}

function Others({ read, rows, curl, empty }: OthersProps) {
  const { fits, tools } = useFilters();
  const allColumns = useMemo(() => columnsFrom(resources.templates.model, columns), []);
  return (
    <Page title="Templates" about={ABOUT} curl={curl} tabs={tabs}>
      {read.error && !rows ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name="templates"
          rows={rows?.filter(fits)}
          columns={allColumns}
          idOf={({ id }) => id}
          linkTo={({ id }) => `/templates/${id}`}
          tools={tools}
          rowActions={(template) => <UseTemplate template={template} size="small" />}
          empty={
            rows?.length ? (
              <Empty title="Nothing fits the filters">Change or clear them to see the rest.</Empty>
            ) : (
              <Empty title="No templates here">{empty}</Empty>
            )
          }
        />
      )}
    </Page>
  );
}
