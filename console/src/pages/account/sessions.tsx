/** The sessions of a person in browsers, and how to end them. */
import { useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { leave } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm } from "../../design/dialog.tsx";
import { When } from "../../design/facts.tsx";
import { Empty, Panel, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { browserOf } from "./browser.ts";

type Session = Answer<"listSessions">["sessions"][number];

const columns: Column<Session>[] = [
  {
    id: "browser",
    title: "Browser",
    value: ({ userAgent }) => browserOf(userAgent),
    cell: ({ userAgent, current }) => (
      <span title={userAgent ?? undefined}>
        {browserOf(userAgent)}
        {current && <span className="quiet"> · this one</span>}
      </span>
    ),
  },
  { id: "address", title: "Address", value: ({ address }) => address },
  { id: "by", title: "Signed in by", value: ({ signedInBy }) => signedInBy },
  {
    id: "since",
    title: "Signed in",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  {
    id: "used",
    title: "Last used",
    value: ({ lastUsedAt }) => lastUsedAt,
    cell: ({ lastUsedAt }) => <When at={lastUsedAt} />,
  },
  { id: "ends", title: "Ends", value: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => <When at={expiresAt} /> },
];

export function Sessions() {
  const read = useRead("listSessions", {}, { refetchInterval: 60_000 });
  const [isAsking, setAsking] = useState(false);
  const endOne = useWrite("endSession", { changes: ["listSessions"], onSuccess: () => say("The session was ended") });
  const endOthers = useWrite("endSessions", {
    changes: ["listSessions"],
    onSuccess: () => say("All other sessions were ended"),
  });
  const endAll = useWrite("endSessions", { onSuccess: () => leave("everywhere") });
  const others = read.data?.sessions.filter(({ current }) => !current).length ?? 0;
  return (
    <Panel
      title="Sessions"
      about="A session in a browser or of millrace login ends after 30 days, or sooner with single sign-on, and after 7 days without use."
      isFlush
      actions={
        <>
          <Button
            size="small"
            refused={others === 0 && "There is no other session"}
            isBusy={endOthers.isPending}
            onClick={() => endOthers.mutate({ query: { others: true } }, { onError: sayRefused })}
          >
            Sign out all others
          </Button>
          <Button size="small" kind="danger" onClick={() => setAsking(true)}>
            Sign out everywhere
          </Button>
        </>
      }
    >
      {read.error && !read.data ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name="sessions"
          rows={read.data?.sessions}
          columns={columns}
          idOf={({ id }) => id}
          rowActions={({ id, current }) =>
            !current && (
              <Button size="small" onClick={() => endOne.mutate({ params: { id } }, { onError: sayRefused })}>
                End
              </Button>
            )
          }
          empty={<Empty title="No sessions">You are signed in by other means.</Empty>}
        />
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Sign out everywhere?"
        verb="Sign out everywhere"
        isBusy={endAll.isPending}
        refusal={endAll.error}
        onConfirm={() => endAll.mutate({})}
      >
        Every browser is signed out at once, this one too. Open terminals and live pages end.
      </Confirm>
    </Panel>
  );
}
