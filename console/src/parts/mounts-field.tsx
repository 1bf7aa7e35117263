/** Where a Pod keeps what it stores: nowhere, in a folder on its machine, or on a network volume. */
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { Link } from "@tanstack/react-router";
import { resources } from "../api/resources.ts";
import { NumberField, SelectField, TextField } from "../design/field.tsx";
import { Group, Segments } from "../design/segments.tsx";
import type { Special } from "../forms/schema-form.tsx";
import { kindOfMounts, type Mounts, mountsOf } from "./mounts.ts";
import css from "./mounts-field.module.css";
import { useList } from "./resource-list.tsx";

type Field = Parameters<Special>[0];

/** `hasGpu`: only Pods with GPUs have persistent folders. */
export const mountsField =
  (hasGpu: (values: Record<string, unknown>) => boolean): Special =>
  (field) => <MountsField {...field} mayPersist={hasGpu(field.values)} />;

function MountsField({ value, onChange, fault, mayPersist }: Field & { mayPersist: boolean }) {
  const mounts = (value as Mounts | undefined) ?? {};
  const kind = kindOfMounts(mounts);
  const noFolder = mayPersist ? undefined : "Only Pods with GPUs have a persistent folder. Use a network volume.";
  return (
    <Group legend="Storage that stays" fault={fault} help={HELP[kind]}>
      <div>
        <Segments
          label="Storage that stays"
          value={kind}
          options={[
            { value: "none", label: "None" },
            { value: "persistent", label: "Persistent folder", refused: noFolder },
            { value: "network", label: "Network volume" },
          ]}
          onChange={(next) => onChange(mountsOf(next))}
        />
      </div>
      {mounts.persistent && <Persistent mounts={mounts} onChange={onChange} />}
      {mounts.network && <Network mounts={mounts} onChange={onChange} />}
    </Group>
  );
}

const HELP = {
  none: "What the program writes is lost when it stops or restarts.",
  persistent: "A folder on the machine of the Pod. It stays when the Pod stops, and is deleted when it is terminated.",
  network: "A volume that outlives the Pod, and that other Pods and endpoints of its data center use too.",
};

interface PartProps {
  mounts: Mounts;
  onChange: (mounts: Mounts) => void;
}

function Persistent({ mounts, onChange }: PartProps) {
  const { persistent } = mounts;
  const change = (part: Partial<typeof persistent>) => onChange({ persistent: { ...persistent!, ...part } });
  return (
    <div className={css.two}>
      <NumberField label="Size" unit="GB" min={10} value={persistent!.size} onChange={(size) => change({ size })} />
      <TextField label="Path" isCode value={persistent!.path} onChange={(path) => change({ path })} />
    </div>
  );
}

function Network({ mounts, onChange }: PartProps) {
  const { rows } = useList<NetworkVolume>(resources.volumes);
  const [first] = mounts.network!;
  const change = (part: Partial<NonNullable<typeof first>>) => onChange({ network: [{ ...first!, ...part }] });
  if (rows?.length === 0) {
    return (
      <p className="quiet">
        You have no network volumes. <Link to="/volumes/new">Create one</Link>
      </p>
    );
  }
  return (
    <div className={css.two}>
      <SelectField
        label="Volume"
        value={first?.volumeId || undefined}
        onChange={(volumeId) => change({ volumeId })}
        options={(rows ?? []).map(({ id, name, size, dataCenter }) => ({
          value: id,
          label: name,
          about: `${size} GB, ${dataCenter}`,
        }))}
      />
      <TextField label="Path" isCode value={first?.path ?? ""} onChange={(path) => change({ path })} />
    </div>
  );
}
