/** A page of keys: their list, the way to make one, and the question before one is taken back. */
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { AnyAsk, OperationName } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useWriteAny } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm } from "../../design/dialog.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import { AccountPage } from "./frame.tsx";

type Scope = Parameters<typeof useMayNot>[0];

interface KeyPageProps<Key> {
  /** `API key`, in titles and buttons. */
  one: string;
  list: OperationName;
  /** The key of the list in its answer. */
  listKey: string;
  scope: Scope;
  columns: readonly Column<Key>[];
  nameOf: (key: Key) => string;
  /** What such a key is for, where there is none. */
  purpose: string;
  remove: { name: OperationName; verb: string; done: string; lost: (key: Key) => ReactNode };
  create: (isOpen: boolean, close: () => void) => ReactNode;
}

export function KeyPage<Key extends { id: string }>(props: KeyPageProps<Key>) {
  const { one, list, listKey, scope, columns, nameOf, purpose, remove, create } = props;
  const { rows, error, refetch, more } = useList<Key>({ list, key: listKey });
  const [doing, setDoing] = useView("do");
  const [removed, setRemoved] = useState<Key>();
  const mayNot = useMayNot(scope);
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setDoing("create")}>
      Create {one}
    </Button>
  );
  return (
    <AccountPage name={`${one}s`} curl={curlOf(list)} actions={button}>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name={`${one.toLowerCase().replace(" ", "-")}s`}
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          rowActions={(key) => (
            <Button
              size="small"
              kind="danger"
              refused={mayNot}
              aria-label={`${remove.verb} ${nameOf(key)}`}
              onClick={() => setRemoved(key)}
            >
              {remove.verb}
            </Button>
          )}
          empty={
            <Empty title={`No ${one}s yet`} action={button}>
              {purpose}
            </Empty>
          }
        />
      )}
      {create(doing === "create", () => setDoing(undefined))}
      {removed && (
        <Remove
          id={removed.id}
          name={nameOf(removed)}
          remove={remove}
          list={list}
          onClose={() => setRemoved(undefined)}
        >
          {remove.lost(removed)}
        </Remove>
      )}
    </AccountPage>
  );
}

interface RemoveProps {
  id: string;
  name: string;
  remove: Omit<KeyPageProps<never>["remove"], "lost">;
  list: OperationName;
  onClose: () => void;
  children: ReactNode;
}

function Remove({ id, name, remove: { name: operation, verb, done }, list, onClose, children }: RemoveProps) {
  const removing = useWriteAny(operation, {
    changes: [list],
    onSuccess: () => {
      onClose();
      say(`${name} was ${done}`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`${verb} ${name}?`}
      verb={verb}
      isBusy={removing.isPending}
      refusal={removing.error}
      onConfirm={() => removing.mutate({ params: { id } } satisfies AnyAsk)}
    >
      {children}
    </Confirm>
  );
}
