/** What is lost with an endpoint, for whoever is about to delete it. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useEndpointState } from "./reads.ts";

export function LostWithEndpoint({ endpoint }: { endpoint: Endpoint }) {
  const { health, counts } = useEndpointState(endpoint);
  const jobs = health ? health.jobs.inQueue + health.jobs.inProgress : 0;
  return (
    <>
      <strong>{endpoint.name}</strong> stops answering at once.{" "}
      {jobs > 0 && `Its ${jobs} unfinished ${jobs === 1 ? "job is" : "jobs are"} cancelled. `}
      {counts.running + counts.idle > 0 && "Its workers end. "}
      Its settings, releases, logs and the results of all its jobs are gone for good.
    </>
  );
}
