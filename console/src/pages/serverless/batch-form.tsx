/** Gathers requests from a file, in a new batch or in one that is a draft. */
import { useRef, useState } from "react";
import { call } from "../../api/client.ts";
import { cache, keyOf } from "../../api/queries.ts";
import { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { countText } from "../../design/facts.tsx";
import { Field, SwitchField, TextField } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { type BatchFile, inParts, readBatchFile } from "./batch-file.ts";
import css from "./batches.module.css";

interface BatchFormProps {
  endpointId: string;
  /** A draft to add to; without it a batch is made. */
  batchId?: string;
  isOpen: boolean;
  onClose: () => void;
  onDone: (batchId: string) => void;
}

export function BatchForm({ endpointId, batchId, isOpen, onClose, onDone }: BatchFormProps) {
  const [name, setName] = useState("");
  const [file, setFile] = useState<BatchFile>();
  const [startsNow, setStartsNow] = useState(true);
  const [sent, setSent] = useState<number>();
  const [refusal, setRefusal] = useState<Refusal>();
  const begun = useRef<Begun>({ id: batchId, parts: 0 });
  const count = file?.requests.length ?? 0;
  const refused = !file ? "Choose a file first" : file.faults.length > 0 ? "Mend the file first" : undefined;
  const choose = (next: BatchFile | undefined) => {
    begun.current = { id: batchId, parts: 0 };
    setFile(next);
  };
  const submit = async () => {
    setRefusal(undefined);
    setSent(0);
    try {
      const id = await sendFile({ endpointId, file: file!, begun: begun.current, onSent: setSent });
      const params = { endpoint_id: endpointId, batch_id: id };
      if (batchId === undefined && name !== "") await call("updateBatch", { params, body: { displayName: name } });
      if (batchId === undefined && startsNow) await call("finalizeBatch", { params });
      onDone(id);
      choose(undefined);
      setName("");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    } finally {
      setSent(undefined);
      await Promise.all(
        (["listBatches", "getBatch", "listBatchRequests"] as const).map((read) =>
          cache.invalidateQueries({ queryKey: keyOf(read) }),
        ),
      );
    }
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={batchId === undefined ? "Create a batch" : "Add requests"}
      about="Requests are gathered first, and become jobs together when the batch is finalized."
    >
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (!refused && sent === undefined) void submit();
        }}
      >
        {batchId === undefined && (
          <TextField label="Name" value={name} onChange={setName} isOptional maxLength={255} placeholder="night run" />
        )}
        <Field
          label="File of requests (JSONL)"
          help='One JSON object on each line, such as {"input": {"n": 1}}. An object without "input" is taken as the input itself. At most 5,000.'
          fault={file && file.faults.length > 0 ? file.faults.join("\n") : undefined}
        >
          {({ id, described }) => (
            <input
              id={id}
              type="file"
              accept=".jsonl,.ndjson,.json,.txt,application/json"
              aria-describedby={described}
              className={css.file}
              onChange={async ({ target }) => {
                const [chosen] = target.files ?? [];
                choose(chosen ? readBatchFile(await chosen.text()) : undefined);
              }}
            />
          )}
        </Field>
        {count > 0 && file?.faults.length === 0 && (
          <p className="quiet">
            {countText(count)} {count === 1 ? "request" : "requests"}
          </p>
        )}
        {batchId === undefined && (
          <SwitchField
            label="Start it at once"
            help="Otherwise it stays a draft, to which requests can be added."
            value={startsNow}
            onChange={setStartsNow}
          />
        )}
        {refusal && <Refused refusal={refusal} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" refused={refused} isBusy={sent !== undefined}>
            {sent === undefined ? submitText(batchId, startsNow) : `${sent} of ${count} sent`}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

const submitText = (batchId: string | undefined, startsNow: boolean) =>
  batchId !== undefined ? "Add them" : startsNow ? "Create and start" : "Create a draft";

/** What of a file was sent so far. Another try goes on behind it, and makes no second batch. */
interface Begun {
  id: string | undefined;
  parts: number;
}

interface Sending {
  endpointId: string;
  file: BatchFile;
  begun: Begun;
  onSent: (count: number) => void;
}

/** A file may be longer than one body, so it goes in parts. Returns the id of the batch. */
async function sendFile({ endpointId, file, begun, onSent }: Sending): Promise<string> {
  let sent = 0;
  for (const [place, part] of inParts(file.requests).entries()) {
    if (place >= begun.parts) {
      begun.id = await sendPart(endpointId, begun.id, part);
      begun.parts = place + 1;
    }
    sent += part.length;
    onSent(sent);
  }
  return begun.id!;
}

async function sendPart(endpointId: string, id: string | undefined, part: BatchFile["requests"]): Promise<string> {
  if (id === undefined) {
    const made = await call("createBatch", { params: { endpoint_id: endpointId }, body: part });
    return (made as unknown as { id: string }).id;
  }
  await call("addBatchRequests", { params: { endpoint_id: endpointId, batch_id: id }, body: { requests: part } });
  return id;
}
