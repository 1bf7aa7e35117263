/** S3 keys: they read and write the files of all volumes with any S3 client. */
import type { S3Key } from "@millrace/platform/resources/s3-keys/model.ts";
import { S3Key as S3KeyModel } from "@millrace/platform/resources/s3-keys/model.ts";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { Answer, Ask } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { CodeTabs } from "../../design/code.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm, Dialog } from "../../design/dialog.tsx";
import { Id, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import css from "./account.module.css";
import { awsSamples } from "./aws.ts";
import { AccountPage } from "./frame.tsx";

const columns: Column<S3Key>[] = [
  { id: "name", title: "Name", value: ({ name }) => name ?? "Without a name" },
  {
    id: "access",
    title: "Access key id",
    value: ({ accessKeyId }) => accessKeyId,
    cell: ({ accessKeyId }) => <Id value={accessKeyId} />,
  },
  {
    id: "created",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

export function S3Keys() {
  const { rows, error, refetch, more } = useList<S3Key>({ list: "listS3Keys", key: "s3Keys" });
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<S3Key>();
  const mayNot = useMayNot("network-volumes:write");
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setCreating(true)}>
      Create S3 key
    </Button>
  );
  return (
    <AccountPage name="S3 keys" curl={curlOf("listS3Keys")} actions={button}>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="s3-keys"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          rowActions={(key) => (
            <Button
              size="small"
              kind="danger"
              refused={mayNot}
              aria-label={`Delete ${key.name ?? key.accessKeyId}`}
              onClick={() => setRevoked(key)}
            >
              Delete
            </Button>
          )}
          empty={
            <Empty title="No S3 keys yet" action={button}>
              With an S3 key, aws, rclone and other S3 clients read and write the files of your volumes, without a Pod.
            </Empty>
          }
        />
      )}
      <Create isOpen={isCreating} onClose={() => setCreating(false)} />
      {revoked && <Revoke s3Key={revoked} onClose={() => setRevoked(undefined)} />}
    </AccountPage>
  );
}

function Create({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [value, setValue] = useState<Values>({});
  const create = useWrite("createS3Key", { changes: ["listS3Keys"] });
  const faults = faultsOf(create.error);
  const close = () => {
    onClose();
    create.reset();
    setValue({});
  };
  if (create.data) return <Made made={create.data} isOpen={isOpen} onClose={close} />;
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title="Create an S3 key"
      about="It reads and writes every volume of the account."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: value as Ask<"createS3Key">["body"] });
        }}
      >
        <SchemaForm schema={S3KeyModel.create} value={value} onChange={setValue} faults={faults} />
        {create.error && faults.size === 0 && <Refused refusal={create.error} />}
        <div className={css.buttons}>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Made({ made, isOpen, onClose }: { made: Answer<"createS3Key">; isOpen: boolean; onClose: () => void }) {
  const volumes = useRead("listNetworkVolumes", {});
  const volume = volumes.data?.networkVolumes[0];
  return (
    <ShownOnce
      isOpen={isOpen}
      onClose={onClose}
      title={`${made.name ?? "Your S3 key"} is ready`}
      about="Copy the secret now. It is not shown again."
      secrets={[
        { label: "Access key id", text: made.accessKeyId },
        { label: "Secret access key", text: made.secretAccessKey },
      ]}
    >
      <div>
        <p className={css.legend}>Set up a client</p>
        <CodeTabs
          samples={awsSamples(made, { origin: location.origin, volume: volume?.id, region: volume?.dataCenter })}
        />
      </div>
    </ShownOnce>
  );
}

function Revoke({ s3Key, onClose }: { s3Key: S3Key; onClose: () => void }) {
  const name = s3Key.name ?? s3Key.accessKeyId;
  const remove = useWrite("deleteS3Key", {
    changes: ["listS3Keys"],
    onSuccess: () => {
      onClose();
      say(`${name} was deleted`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Delete ${name}?`}
      verb="Delete"
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ params: { id: s3Key.id } })}
    >
      S3 clients that use it are refused within a second. Files on the volumes stay.
    </Confirm>
  );
}
