/** One volume: its facts, what uses it, what it cost, and how to rename it or let it grow. */
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { Link } from "@tanstack/react-router";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Code } from "../../design/code.tsx";
import { Id, Money, moneyText, sizeText, wordsOf } from "../../design/facts.tsx";
import { Facts, Loaded, Panel } from "../../design/layout.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { usersOfVolume } from "../../parts/used-by.ts";
import { UsersPanel } from "../../parts/users.tsx";
import { useCenters } from "./form.tsx";
import { VolumeFrame } from "./frame.tsx";
import { monthlyPrice, priceOf } from "./prices.ts";
import { awsCommands, rcloneCommands, s3Url } from "./s3.ts";
import css from "./volumes.module.css";

export function VolumePage() {
  return <VolumeFrame>{(volume) => <Shown volume={volume} />}</VolumeFrame>;
}

function Shown({ volume }: { volume: NetworkVolume }) {
  const mayNot = useMayNot("network-volumes:write");
  const { data: bill } = useRead("listNetworkVolumeBilling", {
    query: { networkVolumeId: volume.id, bucketSize: "month", lastN: 1 },
  });
  return (
    <>
      <Panel>
        <Facts
          rows={[
            ["Size", `${volume.size} GB`],
            ["Used", volume.usedBytes === null ? volume.usedReason : sizeText(volume.usedBytes)],
            ["Size is kept to", volume.sizeEnforced ? "Yes" : "No: programs can write more than that"],
            ["Data center", <code key="where">{volume.dataCenter}</code>],
            ["Tier", wordsOf(volume.type ?? "")],
            bill && ["Cost this month", <Money key="cost" usd={bill.metadata.totals.totalAmount} />],
            ["ID", <Id key="id" value={volume.id} />],
          ]}
        />
      </Panel>
      <UsersPanel
        find={(known) => usersOfVolume(volume.id, known)}
        none="No Pod and no endpoint uses it. Choose it under Mounts when you create a Pod, or under Network volumes of an endpoint."
      />
      {!mayNot && (
        <EditForm
          resource={resources.volumes}
          record={volume}
          first={["name", "size"]}
          warning={({ size }) => typeof size === "number" && <Growth volume={volume} size={size} />}
        />
      )}
      <AllFields model={resources.volumes.model} record={volume} />
    </>
  );
}

/** What a larger size costs, before it is saved. */
function Growth({ volume, size }: { volume: NetworkVolume; size: number }) {
  const price = priceOf(
    useCenters()?.find(({ id }) => id === volume.dataCenter),
    volume.type,
  );
  if (size <= volume.size) return null;
  return (
    <p className="quiet">
      It grows by {size - volume.size} GB
      {price &&
        `, and costs ${moneyText(monthlyPrice(size, price))} a month instead of ${moneyText(monthlyPrice(volume.size, price))}`}
      . It cannot shrink again.
    </p>
  );
}

const KeysLink = ({ count }: { count: number }) => (
  <Link to="/account/s3-keys">{count === 0 ? "Make an S3 key first" : `${count} in the account`}</Link>
);

export function VolumeS3() {
  return <VolumeFrame>{(volume) => <S3Access volume={volume} />}</VolumeFrame>;
}

function S3Access({ volume }: { volume: NetworkVolume }) {
  const keys = useRead("listS3Keys", {});
  return (
    <>
      <Panel title="S3 access" about="Any S3 client reads and writes the files of the volume, also while nothing runs.">
        <Facts
          rows={[
            ["Endpoint URL", <Id key="url" value={s3Url(location.origin)} />],
            ["Bucket", <Id key="bucket" value={volume.id} />],
            ["Region", <Id key="region" value={volume.dataCenter} />],
            ["Addressing", "The bucket is in the path (path style)"],
            [
              "Keys",
              <Loaded key="keys" read={keys} lines={1}>
                {({ s3Keys }) => <KeysLink count={s3Keys.length} />}
              </Loaded>,
            ],
          ]}
        />
      </Panel>
      <Panel title="aws">
        <Code text={awsCommands(volume, location.origin)} />
      </Panel>
      <Panel title="rclone">
        <Code text={rcloneCommands(volume, location.origin)} />
      </Panel>
      <p className={css.note}>
        An S3 key is good for every volume of the account. Its secret is shown once, when the key is made.
      </p>
    </>
  );
}
