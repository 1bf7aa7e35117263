/** One deployment: how its tests go, why they wait, and a newer release if there is one. */
import type { HubDeployment } from "@millrace/platform/resources/hub/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Id, Status, When } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel, Refused } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { say } from "../../design/toast.tsx";
import { TEST_TONES, TEST_WORDS } from "./deployments.tsx";
import css from "./hub.module.css";

/** A test that runs is looked at this often. */
const LOOK_MS = 1500;

export function DeploymentPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead(
    "getHubDeployment",
    { params: { id } },
    { refetchInterval: ({ state }) => (state.data?.test === "RUNNING" ? LOOK_MS : false) },
  );
  return <Loaded read={read}>{(deployment) => <Shown deployment={deployment} />}</Loaded>;
}

function Shown({ deployment }: { deployment: HubDeployment }) {
  const { id, title, type, test, testReason, updateTo, releaseId, listingId } = deployment;
  const changes = ["getHubDeployment", "listHubDeployments"] as const;
  const again = useWrite("testHubDeployment", { changes });
  const update = useWrite("updateHubDeployment", { changes, onSuccess: () => say("It is of the newest release now") });
  const isPod = type === "POD";
  const endpoint = useRead("getEndpoint", { params: { id } }, { enabled: !isPod });
  const pod = useRead("getPod", { params: { id } }, { enabled: isPod });
  const name = (isPod ? pod : endpoint).data?.name;
  const mayNot = useMayNot("serverless:write") ?? (test === "RUNNING" ? "The tests are under way." : undefined);
  const refusal = again.error ?? update.error;
  return (
    <Page
      title={name ?? title}
      about={`${isPod ? "A Pod" : "An endpoint"} from the hub's ${title}`}
      curl={curlOf("getHubDeployment", { params: { id } })}
      actions={
        <>
          <ButtonLink kind="primary" to={isPod ? "/pods/$id" : "/serverless/$id"} params={{ id }}>
            Open the {isPod ? "Pod" : "endpoint"}
          </ButtonLink>
          <Button refused={mayNot} isBusy={again.isPending} onClick={() => again.mutate({ params: { id } })}>
            Test again
          </Button>
          {updateTo && (
            <Button refused={mayNot} isBusy={update.isPending} onClick={() => update.mutate({ params: { id } })}>
              Update to the newest release
            </Button>
          )}
        </>
      }
    >
      {refusal && <Refused refusal={refusal} />}
      <Panel
        title="Does it work?"
        about="The listing's own tests, as jobs or requests."
        actions={<Status value={TEST_WORDS[test]} tone={TEST_TONES[test]} />}
      >
        <div aria-live="polite" className={css.says}>
          <Reason text={testReason} code={undefined} tone={isBad(deployment) ? "bad" : "wait"}>
            <ButtonLink size="small" to={isPod ? "/pods/$id/logs" : "/serverless/$id/logs"} params={{ id }}>
              See the log
            </ButtonLink>
            <ButtonLink size="small" to={isPod ? "/pods/$id/settings" : "/serverless/$id/settings"} params={{ id }}>
              Change its settings
            </ButtonLink>
          </Reason>
        </div>
        <Tests deployment={deployment} />
      </Panel>
      <Panel>
        <Facts
          rows={[
            [isPod ? "Pod" : "Endpoint", <Id key="id" value={id} />],
            [
              "Listing",
              <Link key="listing" to="/hub/$id" params={{ id: listingId }}>
                {listingId}
              </Link>,
            ],
            ["Release", <Id key="release" value={releaseId} />],
            updateTo !== null && ["Newer release", <Id key="newer" value={updateTo} />],
            ["Deployed", <When key="made" at={deployment.createdAt} />],
            ["Tested", <When key="tested" at={deployment.testedAt} />],
          ]}
        />
      </Panel>
    </Page>
  );
}

/** A program that dies again and again passes no test, however long one waits. */
const isBad = ({ test, testReason }: HubDeployment) => test === "FAILED" || testReason?.startsWith("crash loop");

const OUTCOMES = { WAITING: "wait", PASSED: "good", FAILED: "bad" } as const;

function Tests({ deployment: { id, type, test, tests } }: { deployment: HubDeployment }) {
  if (tests.length === 0) return <p className="quiet">The listing has no tests.</p>;
  return (
    <ul className={css.tests}>
      {tests.map(({ name, outcome, reason, jobId }) => (
        <li key={name} className={css.test}>
          <Status
            value={test === "NONE" ? "NOT_TESTED" : outcome}
            tone={test === "NONE" ? "idle" : OUTCOMES[outcome]}
          />
          <span>{name}</span>
          {jobId && type !== "POD" && (
            <Link to="/serverless/$id/jobs/$jobId" params={{ id, jobId }}>
              The job
            </Link>
          )}
          {outcome === "FAILED" && reason && <span className={css.why}>{reason}</span>}
        </li>
      ))}
    </ul>
  );
}
