/** Who uses what: the one place where it is said which resources keep another one from being deleted. */
import type { EndpointService } from "./endpoints/service.ts";
import type { PodRecords } from "./pods/records.ts";
import type { Used, Users } from "./uses.ts";

interface Using {
  endpoints: EndpointService;
  podRecords: PodRecords;
}

const KEYS = { registry: "registry", template: "template", "network volume": "volume" } as const;

/** Those that name such a thing as theirs. */
export function usersOf(used: Used, { endpoints, podRecords }: Using): Users[] {
  const named = KEYS[used];
  return [
    { what: "endpoint", of: (account, id, most) => endpoints.naming(account, named, id, most) },
    { what: "Pod", of: (account, id, most) => podRecords.naming(account, named, id, most) },
  ];
}
