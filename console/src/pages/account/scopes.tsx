/** The choice of what an API key may do: presets, and each scope by resource. */
import { type Grant, grants, mayGrant, scopedResources } from "@millrace/platform/kernel/scope.ts";
import { useMe } from "../../api/me.ts";
import { Button } from "../../design/button.tsx";
import { Tick } from "../../design/field.tsx";
import css from "./account.module.css";

const presets: { label: string; about: string; grants: Grant[] }[] = [
  { label: "All", about: "Everything that you may do, also making keys.", grants: ["all"] },
  { label: "Read-only", about: "Reads everything, changes and runs nothing.", grants: ["read-only"] },
  {
    label: "Invoke only",
    about: "Runs jobs and reads their results. For programs that call endpoints.",
    grants: ["serverless:invoke"],
  },
];

/** The words after the colon that a resource has: read and write for each, and what else there is. */
const verbsOf = (resource: string) =>
  grants.filter((grant) => grant.startsWith(`${resource}:`)).map((grant) => grant.slice(resource.length + 1));

interface ScopesProps {
  value: readonly Grant[];
  onChange: (value: Grant[]) => void;
  fault: string | undefined;
}

export function Scopes({ value, onChange, fault }: ScopesProps) {
  const { data } = useMe();
  const held = data?.scopes ?? [];
  const isPreset = ({ grants: wanted }: (typeof presets)[number]) => wanted.join() === value.join();
  const chosen = presets.find(isPreset);
  return (
    <fieldset>
      <legend className={css.legend}>What it may do</legend>
      <div className={css.presets}>
        {presets.map((preset) => (
          <Button
            key={preset.label}
            size="small"
            kind={preset === chosen ? "primary" : "plain"}
            aria-pressed={preset === chosen}
            refused={!preset.grants.every((grant) => mayGrant(held, grant)) && "You may not do this yourself"}
            onClick={() => onChange(preset.grants)}
          >
            {preset.label}
          </Button>
        ))}
        <Button
          size="small"
          kind={chosen ? "plain" : "primary"}
          aria-pressed={!chosen}
          onClick={() => chosen && onChange([])}
        >
          Chosen scopes
        </Button>
      </div>
      {chosen ? <p className={css.help}>{chosen.about}</p> : <Grid value={value} onChange={onChange} held={held} />}
      {fault && <p className={css.fault}>{fault}</p>}
    </fieldset>
  );
}

function Grid({
  value,
  onChange,
  held,
}: {
  value: readonly Grant[];
  onChange: (value: Grant[]) => void;
  held: readonly Grant[];
}) {
  const turn = (grant: Grant, on: boolean) => onChange(on ? [...value, grant] : value.filter((one) => one !== grant));
  return (
    <>
      <p className={css.help}>Write includes read.</p>
      <table className={css.scopes}>
        <thead>
          <tr>
            <th>Resource</th>
            <th>Scopes</th>
          </tr>
        </thead>
        <tbody>
          {scopedResources.map((resource) => (
            <tr key={resource}>
              <th scope="row">{resource}</th>
              <td>
                <div className={css.ticks}>
                  {verbsOf(resource).map((verb) => {
                    const grant = `${resource}:${verb}` as Grant;
                    return mayGrant(held, grant) ? (
                      <Tick key={verb} label={verb} value={value.includes(grant)} onChange={(on) => turn(grant, on)} />
                    ) : null;
                  })}
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
