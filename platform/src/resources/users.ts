/** Who uses what: the one place where it is said which resources keep another one from being deleted. */
import type { EndpointService } from "./endpoints/service.ts";
import type { PodRecords } from "./pods/records.ts";
import type { Users } from "./uses.ts";

interface Using {
  endpoints: EndpointService;
  podRecords: PodRecords;
}

/** Those that name a registry, or a template, as theirs. */
export function usersOf(named: "registry" | "template", { endpoints, podRecords }: Using): Users[] {
  return [
    { what: "endpoint", of: (account, id, most) => endpoints.naming(account, named, id, most) },
    { what: "Pod", of: (account, id, most) => podRecords.naming(account, named, id, most) },
  ];
}
