/** S3 keys: they read and write the files of all volumes with any S3 client. */
import type { S3Key } from "@millrace/platform/resources/s3-keys/model.ts";
import { useState } from "react";
import type { Answer, Ask } from "../../api/client.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { createS3Key } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { CodeTabs } from "../../design/code.tsx";
import type { Column } from "../../design/column.ts";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Id, When } from "../../design/facts.tsx";
import { Refused } from "../../design/layout.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import css from "./account.module.css";
import { awsSamples } from "./aws.ts";
import { KeyPage } from "./key-page.tsx";

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

export const S3Keys = () => (
  <KeyPage<S3Key>
    one="S3 key"
    list="listS3Keys"
    listKey="s3Keys"
    scope="network-volumes:write"
    columns={columns}
    nameOf={({ name, accessKeyId }) => name ?? accessKeyId}
    purpose="With an S3 key, aws, rclone and other S3 clients read and write the files of your volumes, without a Pod."
    remove={{
      name: "deleteS3Key",
      verb: "Delete",
      done: "deleted",
      lost: () => "S3 clients that use it are refused within a second. Files on the volumes stay.",
    }}
    create={(isOpen, close) => <Create isOpen={isOpen} onClose={close} />}
  />
);

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
        <SchemaForm schema={createS3Key} value={value} onChange={setValue} faults={faults} />
        {create.error && faults.size === 0 && <Refused refusal={create.error} />}
        <DialogFoot onCancel={close}>
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            Create key
          </Button>
        </DialogFoot>
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
