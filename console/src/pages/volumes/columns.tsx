/** Columns of the list of network volumes. */
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import type { Column } from "../../design/column.ts";
import { Id, sizeText, wordsOf } from "../../design/facts.tsx";

export const columns: Column<NetworkVolume>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  { id: "size", title: "Size, GB", value: ({ size }) => size, isNumber: true },
  {
    id: "usedBytes",
    title: "Used",
    value: ({ usedBytes }) => usedBytes,
    cell: ({ usedBytes, usedReason }) =>
      usedBytes === null ? (
        <span className="quiet" title={usedReason ?? undefined}>
          –
        </span>
      ) : (
        sizeText(usedBytes)
      ),
    isNumber: true,
  },
  {
    id: "dataCenter",
    title: "Data center",
    value: ({ dataCenter }) => dataCenter,
    cell: ({ dataCenter }) => <code>{dataCenter}</code>,
  },
  { id: "type", title: "Tier", value: ({ type }) => wordsOf(type ?? "") },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
];
