/** Pods of the account. */
import { podStatuses } from "@millrace/platform/resources/pods/lifecycle.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { resources } from "../../api/resources.ts";
import { moneyText, wordsOf } from "../../design/facts.tsx";
import { Choice, Tick } from "../../design/field.tsx";
import { Segments } from "../../design/segments.tsx";
import { ResourceList, useList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView, useViewList } from "../../shell/view.ts";
import { ManyActions, PodActions } from "./actions.tsx";
import { columns } from "./columns.tsx";
import { ManyOf } from "./filters.tsx";
import css from "./pods.module.css";
import { fits } from "./state.ts";

const STATUSES = podStatuses
  .filter((status) => status !== "TERMINATED")
  .map((status) => ({ value: status, label: wordsOf(status) }));
const KINDS = [
  { value: "all", label: "All" },
  { value: "gpu", label: "GPU" },
  { value: "cpu", label: "CPU" },
] as const;

/** The same for every drawing of the list, which leaves rows alone that did not change. */
const rowActions = (pod: Pod) => <PodActions pod={pod} isSmall />;

export function PodList() {
  const [words, setWords] = useView<string>("find", "");
  const [statuses, setStatuses] = useViewList("status");
  const [kind, setKind] = useView<"all" | "gpu" | "cpu">("kind", "all");
  const [dataCenter, setDataCenter] = useView<string>("dataCenter", "all");
  const [members, setMembers] = useView<"no" | "yes">("members", "no");
  const query = members === "yes" ? { includeClusterPods: true } : {};
  const { rows = [] } = useList<Pod>(resources.pods, query);
  const places = [...new Set(rows.flatMap(({ dataCenterId }) => dataCenterId ?? []))].toSorted();
  const cost = rows.reduce((sum, pod) => sum + pod.cost, 0);
  return (
    <ResourceList<Pod>
      resource={resources.pods}
      title="Pods"
      about="Programs or containers that run until you end them, and keep what they store."
      columns={columns}
      query={query}
      filter={(pod) => fits(pod, { statuses, kind, dataCenter, words })}
      example={{ name: "first", image: "python:3.13", cpu: { id: "cpu3c", vcpuCount: 2 } }}
      tools={
        <>
          <SearchField label="Name, id, image" value={words} onChange={setWords} />
          <ManyOf label="Status" options={STATUSES} chosen={statuses} onChange={setStatuses} />
          <Segments label="Kind of compute" value={kind} onChange={setKind} options={KINDS} />
          {places.length > 1 && (
            <div className={css.choice}>
              <Choice
                label="Data center"
                value={dataCenter}
                onChange={setDataCenter}
                options={[
                  { value: "all", label: "All data centers" },
                  ...places.map((place) => ({ value: place, label: place })),
                ]}
              />
            </div>
          )}
          <Tick
            label="With members of clusters"
            value={members === "yes"}
            onChange={(on) => setMembers(on ? "yes" : undefined)}
          />
          {cost > 0 && <span className={css.sum}>{moneyText(cost)} an hour now</span>}
        </>
      }
      bulk={(ids, clear) => <ManyActions pods={rows} ids={ids} onDone={clear} />}
      rowActions={rowActions}
    />
  );
}
