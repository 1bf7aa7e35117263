/** The list of a resource: its table, what to do when it is empty, and the way to create one. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type ComponentType, type ReactNode, useCallback, useMemo } from "react";
import { calls } from "../api/calls.data.ts";
import { callAny } from "../api/client.ts";
import { curlOf } from "../api/curl.ts";
import { useMayNot } from "../api/me.ts";
import { keyOf } from "../api/queries.ts";
import type { Refusal } from "../api/refusal.ts";
import type { Resource } from "../api/resources.ts";
import { ButtonLink } from "../design/button.tsx";
import type { Column } from "../design/column.ts";
import { Empty, Page, Refused } from "../design/layout.tsx";
import { DataTable } from "../design/table.tsx";
import { columnsFrom } from "./derived.tsx";

interface ListAnswer {
  pagination?: { nextCursor: string | null; hasNextPage: boolean };
}

/** The rows of a list, page by page. Lists without pages come at once. */
export function useList<Row>(
  resource: Pick<Resource, "list" | "key">,
  query: Record<string, unknown> = {},
  params?: Record<string, string>,
) {
  const { list, key } = resource;
  const read = useInfiniteQuery<unknown, Refusal>({
    queryKey: keyOf(list, { query, params, paged: true }),
    queryFn: ({ pageParam, signal }) =>
      callAny(list, { params, query: { ...query, ...(pageParam !== "" && { cursor: pageParam }) } }, signal),
    initialPageParam: "",
    getNextPageParam: (last) => {
      const { pagination } = last as ListAnswer;
      return pagination?.hasNextPage ? pagination.nextCursor : undefined;
    },
  });
  const { data } = read;
  const rows = useMemo(() => data?.pages.flatMap((page) => (page as Record<string, Row[]>)[key] ?? []), [data, key]);
  return {
    rows,
    error: read.error,
    refetch: read.refetch,
    more: { has: read.hasNextPage, isLoading: read.isFetchingNextPage, load: () => void read.fetchNextPage() },
  };
}

const idOf = ({ id }: { id: string }) => id;

interface ResourceListProps<Row> {
  resource: Resource;
  title: string;
  about: string;
  /** Fields of the model that none of them shows are offered as further columns. */
  columns: readonly Column<Row>[];
  query?: Record<string, unknown>;
  /** What creates one, for the command of an empty list. */
  example?: Record<string, unknown>;
  tools?: ReactNode;
  tabs?: ReactNode;
  actions?: ReactNode;
  filter?: (row: Row) => boolean;
  bulk?: (ids: readonly string[], clear: () => void) => ReactNode;
  rowActions?: (row: Row) => ReactNode;
  /** Around the cells of each row: reads once what several of them show. */
  around?: ComponentType<{ row: Row; children: ReactNode }>;
  /** Without pages of their own, rows lead nowhere. */
  hasPages?: boolean;
}

export function ResourceList<Row extends { id: string }>(props: ResourceListProps<Row>) {
  const {
    resource,
    title,
    about,
    columns,
    query,
    example,
    tools,
    tabs,
    actions,
    filter,
    bulk,
    rowActions,
    around,
    hasPages = true,
  } = props;
  const { rows, error, refetch, more } = useList<Row>(resource, query);
  // The same for every drawing of the list, which leaves rows alone that did not change.
  const linkTo = useCallback(({ id }: Row) => `${resource.path}/${id}`, [resource]);
  const allColumns = useMemo(() => columnsFrom(resource.model, columns), [resource, columns]);
  const create = resource.create && calls[resource.create];
  const mayNot = useMayNot(create?.scope ?? "account:read");
  const createLink = (kind: "primary" | "plain") =>
    create &&
    !mayNot && (
      <ButtonLink to={`${resource.path}/new` as "/"} kind={kind} icon={<Plus />}>
        {resource.creating ?? `Create ${resource.one}`}
      </ButtonLink>
    );
  return (
    <Page
      title={title}
      about={about}
      curl={curlOf(resource.list, query ? { query } : {})}
      tabs={tabs}
      actions={
        <>
          {actions}
          {/* An empty list has its own, and a page has one of that weight. */}
          {createLink(rows?.length === 0 ? "plain" : "primary")}
        </>
      }
    >
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name={resource.many.replaceAll(" ", "-")}
          rows={filter ? rows?.filter(filter) : rows}
          columns={allColumns}
          idOf={idOf}
          {...(hasPages && { linkTo })}
          {...(bulk && { bulk })}
          {...(rowActions && { rowActions })}
          around={around}
          tools={rows?.length === 0 && !query ? undefined : tools}
          more={more}
          empty={
            rows?.length ? (
              <Empty title="Nothing fits the filters">Change or clear them to see the rest.</Empty>
            ) : (
              <Empty
                title={`No ${resource.many} yet`}
                action={createLink("primary")}
                {...(create && example && { command: curlOf(resource.create!, { body: example }) })}
              >
                {about}
              </Empty>
            )
          }
        />
      )}
    </Page>
  );
}
