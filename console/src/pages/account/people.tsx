/** The people of the account: who they are, what they may do, and how others are invited. */
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot, useMe } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Id, Status, When } from "../../design/facts.tsx";
import { Empty, Panel, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { allRoles, roleWords } from "../../parts/roles.tsx";
import css from "./account.module.css";
import { AccountPage } from "./frame.tsx";
import { Invitations, Invite } from "./invitations.tsx";
import { ChangeRole, Disable, type Person, Remove } from "./person-dialogs.tsx";

type Asked = { what: "role" | "disable" | "remove"; person: Person };

const columns: Column<Person>[] = [
  {
    id: "email",
    title: "Person",
    value: ({ email }) => email,
    cell: ({ name, email }) => (
      <span>
        {name ?? email}
        {name && <span className="quiet"> · {email}</span>}
      </span>
    ),
  },
  {
    id: "role",
    title: "Role",
    value: ({ role }) => role,
    cell: ({ role }) => <span title={roleWords[role]}>{role}</span>,
  },
  {
    id: "state",
    title: "State",
    value: stateOf,
    cell: (person) => (
      <Status
        value={stateOf(person)}
        tone={person.disabled ? "bad" : person.passwordSet || person.byProvider ? "good" : "wait"}
      />
    ),
  },
  {
    id: "seen",
    title: "Last seen",
    value: ({ lastSeenAt }) => lastSeenAt,
    cell: ({ lastSeenAt }) => <When at={lastSeenAt} />,
  },
  {
    id: "since",
    title: "Here since",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

function stateOf({ disabled, passwordSet, byProvider }: Person): string {
  if (disabled) return "DISABLED";
  if (byProvider) return "SINGLE_SIGN_ON";
  return passwordSet ? "ACTIVE" : "NO_PASSWORD";
}

export function People() {
  const read = useRead("listPeople", {});
  const [isInviting, setInviting] = useState(false);
  const mayNot = useMayNot("account:write");
  return (
    <AccountPage
      name="People"
      curl={curlOf("listPeople")}
      actions={
        <Button kind="primary" icon={<UserPlus />} refused={mayNot} onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      {read.error && !read.data ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <PeopleTable people={read.data?.people} mayNot={mayNot} />
      )}
      <Invitations mayNot={mayNot} />
      <Panel title="What each role may do">
        <dl className={css.roles}>
          {allRoles.map((role) => (
            <div key={role}>
              <dt>{role}</dt>
              <dd>{roleWords[role]}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <Invite isOpen={isInviting} onClose={() => setInviting(false)} />
    </AccountPage>
  );
}

function PeopleTable({ people, mayNot }: { people: Person[] | undefined; mayNot: string | undefined }) {
  const me = useMe();
  const [asked, setAsked] = useState<Asked>();
  const signOut = useWrite("endPersonSessions", {
    changes: ["listPeople", "listSessions"],
    onSuccess: () => say("The person is signed out everywhere"),
  });
  const close = () => setAsked(undefined);
  return (
    <>
      <DataTable
        name="people"
        rows={people}
        columns={columns}
        idOf={({ id }) => id}
        rowActions={(person) => (
          <Menu
            label={`Actions for ${person.email}`}
            items={[
              { label: "Change role", refused: mayNot, onSelect: () => setAsked({ what: "role", person }) },
              {
                label: "Sign out everywhere",
                refused: mayNot,
                onSelect: () => signOut.mutate({ params: { id: person.id } }, { onError: sayRefused }),
              },
              {
                label: person.disabled ? "Enable" : "Disable",
                refused: mayNot ?? (person.id === me.data?.person?.id && "You cannot disable yourself"),
                onSelect: () => setAsked({ what: "disable", person }),
              },
              {
                label: "Remove",
                isDanger: true,
                refused: mayNot,
                onSelect: () => setAsked({ what: "remove", person }),
              },
            ]}
          />
        )}
        empty={
          <Empty title="Nobody yet">
            Invite people by link. Each has a role, and their actions are in the audit log.
          </Empty>
        }
      />
      {asked?.what === "role" && <ChangeRole person={asked.person} onClose={close} />}
      {asked?.what === "disable" && <Disable person={asked.person} onClose={close} />}
      {asked?.what === "remove" && <Remove person={asked.person} onClose={close} />}
    </>
  );
}
