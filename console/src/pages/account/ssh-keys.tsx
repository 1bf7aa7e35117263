/** SSH public keys of the account: who has one of them logs in to every Pod. */
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { Empty, Loaded, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import css from "./account.module.css";
import { AccountPage } from "./frame.tsx";
import { readSshLine, type SshLine } from "./ssh-line.ts";

interface SshKey extends SshLine {
  line: string;
}

const columns: Column<SshKey>[] = [
  { id: "comment", title: "Comment", value: ({ comment }) => comment },
  { id: "type", title: "Type", value: ({ type }) => type },
  {
    id: "fingerprint",
    title: "Fingerprint",
    value: ({ fingerprint }) => fingerprint,
    cell: ({ fingerprint }) => (fingerprint ? <code>{fingerprint}</code> : "not readable"),
  },
];

export function SshKeys() {
  const read = useRead("getSshKeys", {});
  const [isAdding, setAdding] = useState(false);
  const mayNotWrite = useMayNot("ssh-keys:write");
  const mayNotRun = useMayNot("pods:exec");
  const mayNot = mayNotWrite ?? mayNotRun;
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setAdding(true)}>
      Add SSH key
    </Button>
  );
  return (
    <AccountPage name="SSH keys" curl={curlOf("getSshKeys")} actions={button}>
      <Loaded read={read}>
        {({ keys }) => (
          <>
            <Keys lines={keys} mayNot={mayNot} button={button} />
            {isAdding && <Add lines={keys} onClose={() => setAdding(false)} />}
          </>
        )}
      </Loaded>
    </AccountPage>
  );
}

interface KeysProps {
  lines: readonly string[];
  mayNot: string | undefined;
  button: React.ReactNode;
}

function Keys({ lines, mayNot, button }: KeysProps) {
  const [removed, setRemoved] = useState<SshKey>();
  const read = useQuery({
    queryKey: ["ssh lines", lines],
    queryFn: () => Promise.all(lines.map(async (line) => ({ line, ...(await readSshLine(line)) }))),
  });
  return (
    <>
      <DataTable
        name="ssh-keys"
        rows={read.data}
        columns={columns}
        idOf={({ line }) => line}
        rowActions={(key) => (
          <Button
            size="small"
            kind="danger"
            refused={mayNot}
            aria-label={`Remove ${key.comment ?? key.type}`}
            onClick={() => setRemoved(key)}
          >
            Remove
          </Button>
        )}
        empty={
          <Empty title="No SSH keys yet" action={button} command="cat ~/.ssh/id_ed25519.pub">
            With a public key here you reach every running Pod by ssh, scp and sftp. The page of a Pod has the command.
          </Empty>
        }
      />
      {removed && <Remove lines={lines} removed={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}

function useReplace(done: string, onClose: () => void) {
  return useWrite("updateSshKeys", {
    changes: ["getSshKeys"],
    onSuccess: () => {
      onClose();
      say(done);
    },
  });
}

function Add({ lines, onClose }: { lines: readonly string[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const add = useReplace("The key was added", onClose);
  const added = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const fault = added.some((line) => line.includes("PRIVATE KEY"))
    ? "This is a private key. Keep it to yourself, and paste the file that ends in .pub."
    : undefined;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Add an SSH key"
      about="Whoever has the private key to it gets a shell in every Pod of the account."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (!fault) add.mutate({ body: { keys: [...new Set([...lines, ...added])] } });
        }}
      >
        <TextField
          label="Public key"
          value={text}
          onChange={setText}
          lines={4}
          isCode
          isRequired
          autoFocus
          placeholder="ssh-ed25519 AAAA… you@laptop"
          help="The content of a .pub file. Several keys go on lines of their own."
          fault={fault ?? add.error?.faults[0]?.message}
        />
        {add.error && add.error.faults.length === 0 && <Refused refusal={add.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" isBusy={add.isPending} refused={fault}>
            Add key
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Remove({ lines, removed, onClose }: { lines: readonly string[]; removed: SshKey; onClose: () => void }) {
  const remove = useReplace("The key was removed", onClose);
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Remove ${removed.comment ?? "this key"}?`}
      verb="Remove"
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ body: { keys: lines.filter((line) => line !== removed.line) } })}
    >
      It opens no new connection from now on. Whoever is logged in with it stays in.
    </Confirm>
  );
}
