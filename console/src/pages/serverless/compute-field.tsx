/** The compute of an endpoint: GPU types in order of preference, or CPU flavors. */
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";
import { Refused, Skeleton } from "../../design/layout.tsx";
import { Segments } from "../../design/segments.tsx";
import type { Special, Values } from "../../forms/schema-form.tsx";
import { chosenTypes, type GpuRequest, requestFor, toggled, vcpuCounts } from "../../parts/compute.ts";
import css from "../../parts/compute-cards.module.css";
import {
  ComputeGroup,
  CountChoice,
  CpuCards,
  GpuCards,
  useCpuCatalog,
  useGpuCatalog,
} from "../../parts/compute-cards.tsx";

export type CpuRequest = { id: string; vcpuCount: number }[];

const GPU_COUNTS = [1, 2, 3, 4, 5, 6, 7, 8];
const FEW_VCPU = 2;

const gpuPrice = ({ price }: GpuType) => price.serverless ?? price.secure;
const cpuPrice = ({ price }: CpuType) => price.serverlessPerVcpu;

/** Takes the place of the field `gpu` and sets `cpu` too: an endpoint has exactly one of them. */
export const computeField =
  (family?: "gpu" | "cpu"): Special =>
  ({ values, onValues, fault }) => (
    <ComputeField values={values} onValues={onValues} fault={fault} {...(family && { family })} />
  );

interface ComputeFieldProps {
  values: Values;
  onValues: (values: Values) => void;
  fault: string | undefined;
  /** What an endpoint has, which it keeps. */
  family?: "gpu" | "cpu";
}

function ComputeField({ values, onValues, fault, family }: ComputeFieldProps) {
  const { gpu: _gpu, cpu: _cpu, ...rest } = values;
  const shown = family ?? (values.cpu === undefined ? "gpu" : "cpu");
  const refused = family && "An endpoint keeps its kind of compute. Create another one for the other kind.";
  return (
    <ComputeGroup
      legend="Compute of a worker"
      fault={fault}
      help="Choose one or several. A worker gets the first that is free, in the order in which you chose them."
    >
      <div className={css.tools}>
        <Segments
          label="Kind of compute"
          value={shown}
          options={[
            { value: "gpu", label: "GPU", refused: shown === "gpu" ? undefined : refused },
            { value: "cpu", label: "CPU", refused: shown === "cpu" ? undefined : refused },
          ]}
          onChange={(next) => onValues(next === "gpu" ? { ...rest, gpu: {} } : { ...rest, cpu: [] })}
        />
        {shown === "gpu" && (
          <CountChoice
            label="per worker"
            counts={GPU_COUNTS}
            value={(values.gpu as GpuRequest | undefined)?.count ?? 1}
            onChange={(count) => onValues({ ...rest, gpu: { ...(values.gpu as GpuRequest), count } })}
          />
        )}
        {shown === "cpu" && <VcpuChoice values={values} onValues={onValues} />}
      </div>
      {shown === "gpu" ? (
        <Gpus values={values} onChange={(gpu) => onValues({ ...rest, gpu })} />
      ) : (
        <Cpus values={values} onChange={(cpu) => onValues({ ...rest, cpu })} />
      )}
    </ComputeGroup>
  );
}

function Gpus({ values, onChange }: { values: Values; onChange: (gpu: GpuRequest) => void }) {
  const request = (values.gpu as GpuRequest | undefined) ?? {};
  const count = request.count ?? 1;
  const read = useGpuCatalog("SERVERLESS", count);
  if (read.error) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton lines={6} />;
  const types = read.data.gpus;
  const chosen = chosenTypes(request, types);
  return (
    <GpuCards
      types={types}
      chosen={chosen}
      count={count}
      priceOf={gpuPrice}
      onToggle={(type) => onChange(requestFor(request, toggled(chosen, type), types))}
    />
  );
}

function Cpus({ values, onChange }: { values: Values; onChange: (cpu: CpuRequest) => void }) {
  const chosen = (values.cpu as CpuRequest | undefined) ?? [];
  const read = useCpuCatalog("SERVERLESS");
  if (read.error) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton lines={3} />;
  const countOf = (type: CpuType) => fitting(type, chosen[0]?.vcpuCount ?? FEW_VCPU);
  return (
    <CpuCards
      types={read.data.cpus}
      chosen={chosen}
      vcpuCount={countOf}
      perVcpu={cpuPrice}
      onToggle={(type) =>
        onChange(
          chosen.some(({ id }) => id === type.id)
            ? chosen.filter(({ id }) => id !== type.id)
            : [...chosen.map(plain), { id: type.id, vcpuCount: countOf(type) }],
        )
      }
    />
  );
}

function VcpuChoice({ values, onValues }: Pick<ComputeFieldProps, "values" | "onValues">) {
  const chosen = (values.cpu as CpuRequest | undefined) ?? [];
  const cpus = useCpuCatalog("SERVERLESS").data?.cpus ?? [];
  const flavors = cpus.filter(({ id }) => chosen.some((one) => one.id === id));
  const counts = [...new Set((flavors.length > 0 ? flavors : cpus).flatMap(vcpuCounts))].toSorted((a, b) => a - b);
  return (
    <CountChoice
      label="vCPU per worker"
      counts={counts.length > 0 ? counts : [FEW_VCPU]}
      value={chosen[0]?.vcpuCount ?? FEW_VCPU}
      onChange={(count) =>
        onValues({
          ...values,
          cpu: chosen.map(({ id }) => {
            const flavor = cpus.find((type) => type.id === id);
            return { id, vcpuCount: flavor ? fitting(flavor, count) : count };
          }),
        })
      }
    />
  );
}

/** Records also show the memory, which a request does not take. */
const plain = ({ id, vcpuCount }: CpuRequest[number]) => ({ id, vcpuCount });

/** The wanted number of vCPU, or the nearest that the flavor comes in. */
function fitting(type: CpuType, wanted: number): number {
  const counts = vcpuCounts(type);
  return counts.findLast((count) => count <= wanted) ?? counts[0] ?? wanted;
}
