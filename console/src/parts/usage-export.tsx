/** Downloads usage for invoices: every line that was charged, with exact amounts. */
import { useState } from "react";
import { type AnyAsk, addressOf, type OperationName, send } from "../api/client.ts";
import { Refusal } from "../api/refusal.ts";
import { Button } from "../design/button.tsx";
import { Dialog, DialogFoot } from "../design/dialog.tsx";
import { SelectField, TextField } from "../design/field.tsx";
import { Refused } from "../design/layout.tsx";
import { download } from "../design/table-tools.tsx";
import css from "./usage-export.module.css";

type Format = "csv" | "json";
const FORMATS = [
  { value: "csv" as Format, label: "CSV" },
  { value: "json" as Format, label: "JSON" },
];

interface Props {
  operation: Extract<OperationName, "exportBilling" | "exportInstallationBilling">;
  title: string;
  onClose: () => void;
}

/** From the first day of the month before this one, up to this month: what an invoice is made for. */
function lastMonth(now = new Date()): { from: string; to: string } {
  const dayOf = (month: number) => new Date(Date.UTC(now.getUTCFullYear(), month, 1)).toISOString().slice(0, 10);
  return { from: dayOf(now.getUTCMonth() - 1), to: dayOf(now.getUTCMonth()) };
}

export function UsageExport({ operation, title, onClose }: Props) {
  const [range, setRange] = useState(lastMonth);
  const [format, setFormat] = useState<Format>("csv");
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const fetchAll = async () => {
    setBusy(true);
    try {
      const query = { startTime: `${range.from}T00:00:00Z`, endTime: `${range.to}T00:00:00Z`, format };
      const answer = await send(addressOf(operation, { query } satisfies AnyAsk), { method: "GET" });
      download(`usage-${range.from}.${format}`, await answer.blob(), answer.headers.get("content-type") ?? undefined);
      onClose();
    } catch (error) {
      setRefusal(error instanceof Refusal ? error : Refusal.unreachable());
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      about="Every line that was charged, in UTC, with exact amounts in USD."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          void fetchAll();
        }}
      >
        <div className={css.days}>
          <TextField
            label="From"
            type="date"
            isRequired
            value={range.from}
            onChange={(from) => setRange({ ...range, from })}
          />
          <TextField
            label="Until"
            type="date"
            isRequired
            help="This day is not in it."
            value={range.to}
            onChange={(to) => setRange({ ...range, to })}
          />
        </div>
        <SelectField label="Format" value={format} onChange={(value) => setFormat(value as Format)} options={FORMATS} />
        {refusal && <Refused refusal={refusal} />}
        <DialogFoot onCancel={onClose}>
          <Button
            type="submit"
            kind="primary"
            isBusy={isBusy}
            refused={range.from >= range.to && "The first day comes before the last"}
          >
            Download
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
