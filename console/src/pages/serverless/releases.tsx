/** The releases of an endpoint: how far the newest one has come, what each changed and who made it, and builds. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Release, ReleaseChange, Rollout } from "@millrace/platform/resources/releases/model.ts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type Answer, call } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { keyOf, useRead } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Status, When } from "../../design/facts.tsx";
import { Panel, Refused, Skeleton } from "../../design/layout.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { changeLabel, changeText } from "./changes.ts";
import { EndpointFrame } from "./frame.tsx";
import css from "./serverless.module.css";

export function EndpointReleases() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <EndpointFrame curl={curlOf("listEndpointReleases", { params: { id } })}>
      {(endpoint) => <Releases endpoint={endpoint} />}
    </EndpointFrame>
  );
}

function useReleases(id: string) {
  return useInfiniteQuery<Answer<"listEndpointReleases">, Refusal>({
    queryKey: keyOf("listEndpointReleases", { params: { id }, paged: true }),
    queryFn: ({ pageParam, signal }) =>
      call(
        "listEndpointReleases",
        { params: { id }, query: pageParam === "" ? {} : { cursor: pageParam as string } },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: ({ pagination }) => (pagination.hasNextPage ? pagination.nextCursor : undefined),
  });
}

function Releases({ endpoint }: { endpoint: Endpoint }) {
  const read = useReleases(endpoint.id);
  if (read.error && !read.data) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton lines={8} />;
  const [newest] = read.data.pages;
  const releases = read.data.pages.flatMap((page) => page.releases);
  return (
    <>
      <RolloutPanel rollout={newest!.rollout} version={newest!.endpointVersion} />
      <Panel
        title="Releases"
        about="Each change that reaches the program of the workers is a release. Numbers of workers, scaling and timeouts change without one."
        actions={
          <>
            <AuditLink id={endpoint.id} />
            <ButtonLink size="small" to="/serverless/$id/settings" params={{ id: endpoint.id }}>
              Change the settings
            </ButtonLink>
          </>
        }
        isFlush
      >
        <ol className={css.releases}>
          {releases.map((release) => (
            <Row key={release.id} release={release} isNewest={release.version === newest!.endpointVersion} />
          ))}
        </ol>
        {read.hasNextPage && (
          <div className={css.moreRows}>
            <Button size="small" isBusy={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
              Older releases
            </Button>
          </div>
        )}
      </Panel>
      <Builds id={endpoint.id} />
    </>
  );
}

function RolloutPanel({ rollout, version }: { rollout: Rollout; version: number | null | undefined }) {
  const { inProgress, workersOnLatest, workersTotal, percentOnLatest } = rollout;
  const text =
    workersTotal === 0
      ? "No worker runs. The next one starts with it."
      : inProgress
        ? `${workersOnLatest} of ${workersTotal} workers run it. The others end when they are done with what they have.`
        : workersTotal === 1
          ? "The only worker runs it."
          : `All ${workersTotal} workers run it.`;
  return (
    <Panel title={`Rollout of release ${version ?? "–"}`}>
      <div className={css.stack}>
        <p>{text}</p>
        {workersTotal > 0 && (
          <div
            className={css.bar}
            role="progressbar"
            aria-label="Workers on the newest release"
            aria-valuenow={percentOnLatest}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <div style={{ width: `${percentOnLatest}%` }} />
          </div>
        )}
      </div>
    </Panel>
  );
}

function Row({ release, isNewest }: { release: Release; isNewest: boolean }) {
  const { version, createdAt, workerCount, diff } = release;
  return (
    <li className={css.release}>
      <div className={css.releaseHead}>
        <strong className="numbers">Release {version ?? "–"}</strong>
        {isNewest && <Status value="NEWEST" tone="accent" />}
        <span className="quiet numbers">
          {workerCount} {workerCount === 1 ? "worker" : "workers"}
        </span>
        <span className="quiet">
          <When at={createdAt} />
        </span>
      </div>
      {diff.length === 0 ? (
        <p className={css.note}>{version === 1 ? "The endpoint was created." : "Nothing that the record shows."}</p>
      ) : (
        <dl className={css.change}>
          {diff.map((change) => (
            <Change key={change.field} change={change} />
          ))}
        </dl>
      )}
    </li>
  );
}

function Change({ change }: { change: ReleaseChange }) {
  return (
    <>
      <dt title={change.field}>{changeLabel(change.field)}</dt>
      <dd>
        <del>{changeText(change.old)}</del> → <ins>{changeText(change.new)}</ins>
      </dd>
    </>
  );
}

function Builds({ id }: { id: string }) {
  const { data } = useRead("listEndpointBuilds", { params: { id } });
  const builds = data?.builds ?? [];
  return (
    <Panel
      title="Builds"
      about="Millrace runs images and builds none. Build yours where your code is, push it, and set the image in the settings."
    >
      {builds.length === 0 ? (
        <p className={css.note} title={curlOf("listEndpointBuilds", { params: { id } })}>
          There are no builds.
        </p>
      ) : (
        <ul className={css.steps}>
          {builds.map((build) => (
            <li key={build.id}>
              <Status value={build.status} /> <code>{build.imageName ?? build.id}</code> <When at={build.startedAt} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
