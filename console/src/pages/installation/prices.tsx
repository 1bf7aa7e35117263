/** What everything costs, and how the owner of the installation changes it. */
import type { InstallationPrices } from "@millrace/platform/resources/administration/model.ts";
import { type ReactNode, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Money, When } from "../../design/facts.tsx";
import { NumberField } from "../../design/field.tsx";
import { Empty, Facts, Loaded, Panel, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import { labelOf } from "../../forms/schema.ts";
import { InstallationPage } from "./frame.tsx";
import css from "./installation.module.css";

/** What has prices: a GPU type, a CPU flavor, or storage. */
interface Priced {
  id: string;
  prices: Record<string, number>;
}

const pricedOf = ({ id, ...prices }: { id: string } & Record<string, unknown>): Priced => ({
  id,
  prices: prices as Record<string, number>,
});

/** One column for each price that any of them has. */
function columnsOf(rows: readonly Priced[]): Column<Priced>[] {
  const names = [...new Set(rows.flatMap(({ prices }) => Object.keys(prices)))];
  return [
    { id: "id", title: "Type", value: ({ id }) => id },
    ...names.map((name) => ({
      id: name,
      title: labelOf(name),
      value: ({ prices }: Priced) => prices[name],
      // A price of 0 stands for a cloud that does not offer the type.
      cell: ({ prices }: Priced) => <Money usd={prices[name] || undefined} />,
      isNumber: true,
    })),
  ];
}

export function Prices() {
  const read = useRead("listPrices", {});
  return (
    <InstallationPage name="Prices" curl={curlOf("listPrices")}>
      <Loaded read={read} lines={10}>
        {(prices) => <Shown prices={prices} />}
      </Loaded>
    </InstallationPage>
  );
}

function Shown({ prices }: { prices: InstallationPrices }) {
  const [changed, setChanged] = useState<Priced>();
  const storage = { id: "storage", prices: prices.storage };
  const types = useRead("listGpuTypes", {}).data?.gpus;
  const poolOf = (id: string) => types?.find((type) => type.id === id)?.pool;
  const isGpu = prices.gpus.some(({ id }) => id === changed?.id);
  return (
    <>
      {prices.changesAt.map((at) => (
        <p key={at} className="quiet">
          Other prices begin to apply <When at={at} />.
        </p>
      ))}
      <PricedTable
        name="gpu-prices"
        title="GPUs"
        about="USD for each GPU and hour."
        rows={prices.gpus.map(pricedOf)}
        onChange={setChanged}
      />
      <PricedTable
        name="cpu-prices"
        title="CPUs"
        about="USD for each vCPU and hour."
        rows={prices.cpus.map(pricedOf)}
        onChange={setChanged}
      />
      <Panel
        title="Storage"
        about="USD for each GB and month."
        actions={
          <Button size="small" aria-label="Change the prices of storage" onClick={() => setChanged(storage)}>
            Change
          </Button>
        }
      >
        <Facts
          rows={Object.entries(prices.storage).map(([name, usd]) => [labelOf(name), <Money key={name} usd={usd} />])}
        />
      </Panel>
      {changed && (
        <Change
          priced={changed}
          worker={isGpu ? { pool: poolOf(changed.id) } : undefined}
          onClose={() => setChanged(undefined)}
        />
      )}
    </>
  );
}

interface PricedTableProps {
  name: string;
  title: string;
  about: ReactNode;
  rows: readonly Priced[];
  onChange: (priced: Priced) => void;
}

function PricedTable({ name, title, about, rows, onChange }: PricedTableProps) {
  return (
    <Panel title={title} about={about} isFlush>
      <DataTable
        name={name}
        rows={rows}
        columns={columnsOf(rows)}
        idOf={({ id }) => id}
        rowActions={(priced) => (
          <Button size="small" aria-label={`Change the prices of ${priced.id}`} onClick={() => onChange(priced)}>
            Change
          </Button>
        )}
        empty={<Empty title="None">The catalog of this installation has none.</Empty>}
      />
    </Panel>
  );
}

interface ChangeProps {
  priced: Priced;
  /** Workers on a GPU type cost what its pool costs. Without a pool they cost what a Pod does, and have no price of their own. */
  worker: { pool: string | null | undefined } | undefined;
  onClose: () => void;
}

function Change({ priced: { id, prices: all }, worker, onClose }: ChangeProps) {
  const prices = Object.fromEntries(
    Object.entries(all).filter(([name]) => name !== "serverless" || !worker || worker.pool),
  );
  const helpOf = (name: string) =>
    name === "serverless" && worker?.pool ? `For every type of the pool ${worker.pool}.` : undefined;
  const [value, setValue] = useState<Record<string, number | undefined>>(prices);
  const set = useWrite("setPrices", {
    changes: ["listPrices", "listGpuTypes", "listCpuTypes"],
    onSuccess: () => {
      onClose();
      say("The prices were set", "They apply within seconds, to what already runs too.");
    },
  });
  const send = (next: Record<string, number | null>) => set.mutate({ body: { id, prices: next } });
  const differing = Object.entries(value).filter(([name, usd]) => usd !== prices[name]);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Prices of ${id}`}
      about="They apply a few seconds later, to what already runs too. What was charged before stays."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (differing.length > 0) send(Object.fromEntries(differing.map(([name, usd]) => [name, usd ?? null])));
        }}
      >
        {Object.keys(prices).map((name) => (
          <NumberField
            key={name}
            label={labelOf(name)}
            value={value[name]}
            onChange={(usd) => setValue({ ...value, [name]: usd })}
            min={0}
            isWhole={false}
            unit="USD"
            placeholder="as in the catalog"
            help={helpOf(name)}
          />
        ))}
        {worker && !worker.pool && <p className="quiet">Workers on it cost what a Pod does: it is in no pool.</p>}
        {set.error && <Refused refusal={set.error} />}
        <DialogFoot
          onCancel={onClose}
          beside={
            <Button onClick={() => send(Object.fromEntries(Object.keys(prices).map((name) => [name, null])))}>
              Restore the catalog's
            </Button>
          }
        >
          <Button
            type="submit"
            kind="primary"
            isBusy={set.isPending}
            refused={differing.length === 0 && "Nothing was changed yet"}
          >
            Set prices
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
