/** The machines of the installation: what each has, what is free there, and whether it takes work. */
import type { InstallationMachine } from "@millrace/platform/resources/installation/model.ts";
import { curlOf } from "../../api/curl.ts";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { columns } from "./columns.tsx";

export function MachineList() {
  const { rows, error, refetch, more } = useList<InstallationMachine>({
    list: "listInstallationMachines",
    key: "machines",
  });
  return (
    <Page title="Machines" about="Pods and workers run on these." curl={curlOf("listInstallationMachines")}>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="machines"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          linkTo={({ id }) => `/machines/${id}`}
          more={more}
          empty={<Empty title="No machines yet">A server that starts on the same database adds its machine.</Empty>}
        />
      )}
    </Page>
  );
}
