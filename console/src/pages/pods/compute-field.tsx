/** The compute of a Pod: one GPU type and how many, or one CPU flavor. */
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";
import { Refused, Skeleton } from "../../design/layout.tsx";
import { Group, Segments } from "../../design/segments.tsx";
import type { Special, Values } from "../../forms/schema-form.tsx";
import { vcpuCounts } from "../../parts/compute.ts";
import css from "../../parts/compute-cards.module.css";
import { CountChoice, CpuCards, GpuCards, useCpuCatalog, useGpuCatalog } from "../../parts/compute-cards.tsx";
import { fittingCount, podGpuPrice } from "./price.ts";

const GPU_COUNTS = [1, 2, 3, 4, 5, 6, 7, 8];
const FEW_VCPU = 2;

export interface GpuWish {
  id?: string;
  count?: number;
}
export interface CpuWish {
  id?: string;
  vcpuCount?: number;
}

/** Takes the place of the field `gpu` and sets `cpu` too: a Pod has exactly one of them. */
export const computeField: Special = ({ values, onValues, fault }) => (
  <ComputeField values={values} onValues={onValues} fault={fault} />
);

interface ComputeFieldProps {
  values: Values;
  onValues: (values: Values) => void;
  fault?: string | undefined;
}

function ComputeField({ values, onValues, fault }: ComputeFieldProps) {
  const { gpu, cpu, ...rest } = values as { gpu?: GpuWish; cpu?: CpuWish } & Values;
  const shown = cpu === undefined ? "gpu" : "cpu";
  const cpus = useCpuCatalog("POD", shown === "cpu").data?.cpus ?? [];
  const flavor = cpus.find(({ id }) => id === cpu?.id);
  return (
    <Group legend="Compute" fault={fault}>
      <div className={css.tools}>
        <Segments
          label="Kind of compute"
          value={shown}
          options={[
            { value: "gpu", label: "GPU" },
            { value: "cpu", label: "CPU" },
          ]}
          onChange={(next) =>
            onValues(next === "gpu" ? { ...rest, gpu: {} } : { ...withoutFolder(rest), cpu: { vcpuCount: FEW_VCPU } })
          }
        />
        {shown === "gpu" ? (
          <CountChoice
            label="per Pod"
            counts={GPU_COUNTS}
            value={gpu?.count ?? 1}
            onChange={(count) => onValues({ ...rest, gpu: { ...gpu, count } })}
          />
        ) : (
          <CountChoice
            label="vCPU"
            counts={flavor ? vcpuCounts(flavor) : [FEW_VCPU, 4, 8, 16, 32]}
            value={cpu?.vcpuCount ?? FEW_VCPU}
            onChange={(vcpuCount) => onValues({ ...rest, cpu: { ...cpu, vcpuCount } })}
          />
        )}
      </div>
      {shown === "gpu" ? (
        <Gpus wish={gpu ?? {}} cloud={cloudOf(values)} onChange={(next) => onValues({ ...rest, gpu: next })} />
      ) : (
        <Cpus wish={cpu ?? {}} onChange={(next) => onValues({ ...rest, cpu: next })} />
      )}
    </Group>
  );
}

export const cloudOf = ({ cloud }: Values) => (cloud === "COMMUNITY" ? "community" : "secure");

/** A Pod without GPUs has no persistent folder. */
function withoutFolder({ mounts, ...rest }: Values): Values {
  const { persistent } = (mounts ?? {}) as { persistent?: object };
  return persistent || mounts === undefined ? rest : { ...rest, mounts };
}

interface GpusProps {
  wish: GpuWish;
  cloud: "secure" | "community";
  onChange: (wish: GpuWish) => void;
}

function Gpus({ wish, cloud, onChange }: GpusProps) {
  const count = wish.count ?? 1;
  const read = useGpuCatalog("POD", count);
  if (read.error) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton lines={6} />;
  const types = read.data.gpus.filter((type) => type[cloud] && type.maxCount[cloud] >= count);
  return (
    <GpuCards
      types={types}
      chosen={types.filter(({ id }) => id === wish.id)}
      count={count}
      priceOf={(type: GpuType) => podGpuPrice(type, cloud)}
      onToggle={({ id }) => onChange({ ...wish, id })}
    />
  );
}

function Cpus({ wish, onChange }: { wish: CpuWish; onChange: (wish: CpuWish) => void }) {
  const read = useCpuCatalog("POD");
  if (read.error) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton lines={3} />;
  const countOf = (type: CpuType) => fittingCount(vcpuCounts(type), wish.vcpuCount ?? FEW_VCPU);
  return (
    <CpuCards
      types={read.data.cpus}
      chosen={wish.id === undefined ? [] : [{ id: wish.id, vcpuCount: wish.vcpuCount ?? FEW_VCPU }]}
      vcpuCount={countOf}
      perVcpu={({ price }) => price.securePerVcpu}
      onToggle={(type) => onChange({ id: type.id, vcpuCount: countOf(type) })}
    />
  );
}
