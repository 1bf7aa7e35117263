/** The endpoints of the account, what each does now and why it does not. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useQueries } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { keyOf } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { wordsOf } from "../../design/facts.tsx";
import { Choice } from "../../design/field.tsx";
import { ResourceList, useList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { columns, knownState, Prices, TYPE_WORDS, WithState } from "./columns.tsx";
import { usePrices } from "./reads.ts";
import css from "./serverless.module.css";
import { MEANING_OF } from "./state.ts";

const ANY = "any";
const STATUSES = [
  { value: ANY, label: "Any status" },
  ...Object.entries(MEANING_OF).map(([value, about]) => ({ value, label: wordsOf(value), about })),
];
const TYPES = [
  { value: ANY, label: "Any type" },
  ...Object.entries(TYPE_WORDS).map(([value, label]) => ({ value, label })),
];
const COMPUTE = [
  { value: ANY, label: "GPU and CPU" },
  { value: "gpu", label: "GPU" },
  { value: "cpu", label: "CPU" },
];

export function EndpointList() {
  const [text, setText] = useView<string>("q", "");
  const [type, setType] = useView<string>("type", ANY);
  const [compute, setCompute] = useView<string>("compute", ANY);
  const [status, setStatus] = useView<string>("status", ANY);
  useStatesOf(status !== ANY);
  const fits = (endpoint: Endpoint) =>
    (text === "" || `${endpoint.name} ${endpoint.id} ${endpoint.image}`.toLowerCase().includes(text.toLowerCase())) &&
    (type === ANY || endpoint.type === type) &&
    (compute === ANY || (compute === "gpu") === (endpoint.gpu !== undefined)) &&
    (status === ANY || knownState(endpoint)?.status === status);
  return (
    <Prices value={usePrices()}>
      <ResourceList<Endpoint>
        resource={resources.endpoints}
        title="Serverless"
        about="Programs that start when work comes, take jobs or requests, and cost nothing while they sleep."
        columns={columns}
        around={WithState}
        example={{ name: "hello", image: "you/handler:1", cpu: [{ id: "cpu3c", vcpuCount: 2 }] }}
        filter={fits}
        tools={
          <div className={css.filters}>
            <SearchField label="Name, id or image" value={text} onChange={setText} />
            <Choice label="Status" value={status} onChange={setStatus} options={STATUSES} />
            <Choice label="Type" value={type} onChange={setType} options={TYPES} />
            <Choice label="Compute" value={compute} onChange={setCompute} options={COMPUTE} />
          </div>
        }
      />
    </Prices>
  );
}

/** A filter by status needs the state of every endpoint that is loaded, and not only of those in sight. */
function useStatesOf(isWanted: boolean): void {
  const { rows } = useList<Endpoint>(resources.endpoints);
  useQueries({
    queries: (isWanted ? (rows ?? []) : []).map(({ id, type }) =>
      type === "QUEUE"
        ? {
            queryKey: keyOf("getEndpointHealth", { params: { endpoint_id: id } }),
            queryFn: () => call("getEndpointHealth", { params: { endpoint_id: id } }),
          }
        : {
            queryKey: keyOf("listEndpointWorkers", { params: { id } }),
            queryFn: () => call("listEndpointWorkers", { params: { id } }),
          },
    ),
  });
}
