/** One listing: what it is, a form of its variables, and the button that deploys it. */
import type { HubListingDetails } from "@millrace/platform/resources/hub/model.ts";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Described } from "../../design/described.tsx";
import { CopyButton, Money, moneyText, When } from "../../design/facts.tsx";
import { NumberField, SelectField, SwitchField, TextField } from "../../design/field.tsx";
import { Facts, Loaded, Page, Panel, Refused } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { gpuWorkerPrice, type Range } from "../../parts/compute.ts";
import form from "../../parts/resource-form.module.css";
import css from "./hub.module.css";
import { Readme } from "./readme.tsx";
import { chosenValues, initialValues, isOn, switched } from "./values.ts";

export function ListingPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getHubListing", { params: { id } });
  return <Loaded read={read}>{(listing) => <Shown key={listing.releaseId} listing={listing} />}</Loaded>;
}

const OWN = "own values";

function Shown({ listing }: { listing: HubListingDetails }) {
  const { id, title, type, description, presets, variables, readme } = listing;
  const navigate = useNavigate();
  const [name, setName] = useState(title);
  const [image, setImage] = useState("");
  const [preset, setPreset] = useState<string>();
  const [values, setValues] = useState(() => initialValues(listing));
  const [isTested, setTested] = useState(true);
  const deploy = useWrite("deployHubListing", {
    changes: ["listHubDeployments", "listEndpoints", "listPods"],
    onSuccess: (made) => {
      say(`${title} was deployed`);
      void navigate({ to: "/hub/deployments/$id", params: { id: made.id } });
    },
  });
  const mayDeploy = useMayNot("serverless:write");
  const mayMakePods = useMayNot(type === "POD" ? "pods:write" : undefined);
  const chosen = chosenValues(listing, preset, values);
  const body = {
    name,
    ...(preset !== undefined && { preset }),
    ...(Object.keys(chosen).length > 0 && { variables: chosen }),
    ...(image !== "" && { image }),
    ...(!isTested && { test: false }),
  };
  const faults = faultsOf(deploy.error);
  const usual = variables.filter(({ advanced }) => !advanced);
  const advanced = variables.filter((one) => one.advanced);
  const field = (variable: HubListingDetails["variables"][number]) => (
    <VariableField
      key={variable.key}
      variable={variable}
      value={values[variable.key] ?? ""}
      onChange={(value) => setValues({ ...values, [variable.key]: value })}
      fault={faults.get(`variables.${variable.key}`)}
    />
  );
  return (
    <Page title={title} about={description} curl={curlOf("getHubListing", { params: { id } })}>
      <form
        className={form.columns}
        onSubmit={(event) => {
          event.preventDefault();
          deploy.mutate({ params: { id }, body });
        }}
      >
        <div className={form.fields}>
          <Panel title="Deploy it">
            <div className={css.form}>
              <TextField
                label="Name"
                value={name}
                onChange={setName}
                isRequired
                maxLength={191}
                fault={faults.get("name")}
                help={`Of the new ${type === "POD" ? "Pod" : "endpoint"}.`}
              />
              {listing.image === null && (
                <TextField
                  label="Image"
                  value={image}
                  onChange={setImage}
                  isRequired
                  isCode
                  placeholder="registry.example.com/name:tag"
                  fault={faults.get("image")}
                  help="This listing names none: build its repository, and name the image here."
                />
              )}
              {presets.length > 0 && (
                <SelectField
                  label="Preset"
                  value={preset ?? OWN}
                  onChange={(next) => {
                    const found = next === OWN ? undefined : next;
                    setPreset(found);
                    setValues(initialValues(listing, found));
                  }}
                  options={[OWN, ...presets.map((one) => one.name)].map((value) => ({
                    value,
                    label: value === OWN ? "The listing's defaults" : value,
                  }))}
                  help="Fills in the fields below."
                />
              )}
              {usual.map(field)}
              {advanced.length > 0 && (
                <details className={css.more} open={advanced.some(({ key }) => faults.has(`variables.${key}`))}>
                  <summary>
                    {advanced.length} advanced {advanced.length === 1 ? "setting" : "settings"}
                  </summary>
                  <div className={css.form}>{advanced.map(field)}</div>
                </details>
              )}
            </div>
          </Panel>
          {readme !== "" && (
            <Panel title="Readme" about={`Written by ${listing.owner}, who offers the listing.`}>
              <Readme text={readme} />
            </Panel>
          )}
        </div>
        <aside className={form.aside} aria-label="Summary">
          <Panel title="Summary">
            <div className={form.summary}>
              <Summary listing={listing} />
              {listing.testNames.length > 0 && (
                <SwitchField
                  label="Run its tests"
                  help={`${listing.testNames.join(", ")}. ${type === "POD" ? "They are requests to the Pod." : "Each is a job, and costs what a job costs."}`}
                  value={isTested}
                  onChange={setTested}
                />
              )}
              {deploy.error && <Refused refusal={deploy.error} />}
              <div className={form.buttons}>
                <Button type="submit" kind="primary" isBusy={deploy.isPending} refused={mayDeploy ?? mayMakePods}>
                  Deploy
                </Button>
              </div>
            </div>
          </Panel>
          <details className={form.curl}>
            <summary>The same with curl</summary>
            <Code text={curlOf("deployHubListing", { params: { id }, body })} />
          </details>
        </aside>
      </form>
    </Page>
  );
}

function Summary({ listing }: { listing: HubListingDetails }) {
  const { type, image, gpu, cpu, disk, ports, version, releasedAt, endpointType } = listing;
  const kind = endpointType === "LOAD_BALANCER" ? "A load-balancing endpoint" : "A queue-based endpoint";
  const price = usePrice(listing);
  return (
    <Facts
      rows={[
        ["Makes", type === "POD" ? "A Pod" : kind],
        ["Runs on", cpu ? `${cpu.vcpuCount} vCPUs (${cpu.id})` : `${gpu?.count ?? 1} GPU: ${gpu?.gpuIds ?? "any"}`],
        price !== undefined && ["Costs", <Cost key="costs" price={price} isPod={type === "POD"} />],
        image !== null && ["Image", <Image key="image" value={image} />],
        ["Disk", `${disk} GB`],
        ports.length > 0 && ["Ports", ports.join(", ")],
        ["Release", version],
        ["Released", <When key="at" at={releasedAt} />],
      ]}
    />
  );
}

/** The end says more than the beginning, and the whole is one hover away. */
const Image = ({ value }: { value: string }) => (
  <span className={css.image} title={value}>
    <code>{value.length > 19 ? `…${value.slice(-18)}` : value}</code>
    <CopyButton text={value} label="Copy the image" />
  </span>
);

/** USD an hour while it runs. A listing for GPUs that names none takes whatever is there, at its price. */
function usePrice({ type, cpu, gpu }: HubListingDetails): Range | undefined {
  const { data: cpus } = useRead("listCpuTypes", {}, { enabled: cpu !== null });
  const { data: gpus } = useRead("listGpuTypes", {}, { enabled: gpu !== null });
  if (cpu) {
    const found = cpus?.cpus.find(({ id }) => id === cpu.id)?.price;
    const usd = found && (type === "POD" ? found.securePerVcpu : found.serverlessPerVcpu) * cpu.vcpuCount;
    return usd === undefined ? undefined : { least: usd, most: usd };
  }
  const wanted = gpu?.gpuIds?.split(",").map((one) => one.trim());
  const types = gpus?.gpus.filter(({ id, pool }) => !wanted || wanted.includes(id) || (pool && wanted.includes(pool)));
  return types && gpuWorkerPrice(types, gpu?.count ?? 1);
}

function Cost({ price: { least, most }, isPod }: { price: Range; isPod: boolean }) {
  return (
    <span>
      {most > least && <>{moneyText(least)} to </>}
      <Money usd={most} per="h" />{" "}
      <span className="quiet">{isPod ? "while it runs" : "for each worker that runs"}</span>
    </span>
  );
}

interface VariableProps {
  variable: HubListingDetails["variables"][number];
  value: string;
  onChange: (value: string) => void;
  fault: string | undefined;
}

function VariableField({ variable, value, onChange, fault }: VariableProps) {
  const { key, name, description, type, required, options, min, max } = variable;
  const help = description ? <Described text={description} /> : undefined;
  const common = { label: name, fault, isOptional: !required, ...(help && { help }) };
  if (type === "boolean")
    return (
      <SwitchField
        label={name}
        {...(help && { help })}
        value={isOn(variable, value)}
        onChange={(on) => onChange(switched(variable, on))}
      />
    );
  if (options.length > 0)
    return <SelectField {...common} value={value} onChange={onChange} options={optionsOf(options)} />;
  if (type === "number")
    return (
      <NumberField
        {...common}
        value={value === "" ? undefined : Number(value)}
        onChange={(next) => onChange(next === undefined ? "" : String(next))}
        min={min}
        max={max}
        isWhole={false}
      />
    );
  return (
    <TextField {...common} value={value} onChange={onChange} isRequired={required} isCode={false} placeholder={key} />
  );
}

const optionsOf = (options: readonly { label: string; value: string }[]) =>
  options.map(({ label, value }) => ({ value, label }));
