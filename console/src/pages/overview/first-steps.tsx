/** What an account that has nothing yet sees: three steps, each with a button and a command. */
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Panel } from "../../design/layout.tsx";
import css from "./overview.module.css";

const auth = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const json = "-H 'Content-Type: application/json'";

export function FirstSteps() {
  const api = `${location.origin}/v2`;
  const { data: keys } = useRead("listApiKeys", {});
  const { data: official } = useRead("listPublicTemplates", { query: { source: "official" } });
  const echo = official?.templates.find(({ name, serverless }) => serverless && name === "Echo")?.id;
  return (
    <ol className={css.steps}>
      <Step
        number={1}
        title="Create an endpoint from an example"
        about="An endpoint keeps a queue of jobs and starts workers for them. The example echoes what it gets; it needs no GPU and no image."
        action={
          <ButtonLink to="/serverless/new" search={{ template: echo }} kind="primary">
            Create an endpoint
          </ButtonLink>
        }
        command={`curl ${api}/serverless ${auth} \\
  ${json} -d '{
  "name": "hello", "image": "host:'$PWD'/examples/echo", "args": "node worker.ts",
  "cpu": [{"id": "cpu3c", "vcpuCount": 2}]
}'`}
      />
      <Step
        number={2}
        title="Run a job"
        about="A worker is started for the first job, and the answer comes when it is done. The page of the endpoint has a box to try it in."
        action={<ButtonLink to="/serverless">Go to endpoints</ButtonLink>}
        command={`curl ${api}/ENDPOINT_ID/runsync ${auth} \\
  ${json} -d '{"input": {"prompt": "hello"}}'`}
      />
      <Step
        number={3}
        title="Make an API key"
        about={
          keys && keys.apiKeys.length > 0
            ? `Your programs sign in with a key. The account has ${keys.apiKeys.length} already; give each program its own.`
            : "Your programs sign in with a key. It is shown once, when it is made."
        }
        action={<ButtonLink to="/account/keys">Make a key</ButtonLink>}
        command={`export MILLRACE_API_KEY=mlr_…\ncurl ${api}/serverless ${auth}`}
      />
    </ol>
  );
}

interface StepProps {
  number: number;
  title: string;
  about: string;
  action: React.ReactNode;
  command: string;
}

function Step({ number, title, about, action, command }: StepProps) {
  return (
    <li>
      <Panel title={`${number}. ${title}`} actions={action}>
        <div className={css.step}>
          <p>{about}</p>
          <Code text={command} label="Copy the command" />
        </div>
      </Panel>
    </li>
  );
}
