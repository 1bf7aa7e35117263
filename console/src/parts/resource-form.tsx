/** Forms of a resource, to create and to change one, made from its model. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { calls } from "../api/calls.data.ts";
import { curlOf } from "../api/curl.ts";
import { useMayNot } from "../api/me.ts";
import { useWriteAny } from "../api/queries.ts";
import type { Resource } from "../api/resources.ts";
import { Button, ButtonLink } from "../design/button.tsx";
import { Code } from "../design/code.tsx";
import { Page, Panel, Refused, Skeleton } from "../design/layout.tsx";
import { say } from "../design/toast.tsx";
import { changedIn, type Shape, withChanges } from "../forms/changed.ts";
import { faultsOf } from "../forms/faults.ts";
import { SchemaForm, type Special, type Values } from "../forms/schema-form.tsx";
import { LeaveGuard } from "./leave-guard.tsx";
import css from "./resource-form.module.css";

interface CreatePageProps {
  /** Whether templates and hardware are still read. The form comes with them, so that nothing in it moves. */
  isWaiting?: boolean;
  resource: Resource;
  title: string;
  about?: string;
  /** Fields that are shown at once, in this order. */
  first: readonly string[];
  without?: readonly string[];
  specials?: Readonly<Record<string, Special>>;
  initial?: Values;
  /** What stands beside the form: what will run, where, and what it costs. */
  summary?: (value: Values) => ReactNode;
  /** Above the form, such as a choice of templates. */
  above?: (value: Values, change: (value: Values) => void) => ReactNode;
  /** The form is made anew when this changes, as after a template filled it in. */
  formKey?: (value: Values) => string;
  /** Fields that have to be there with these values. */
  needed?: (value: Values) => readonly string[];
  /** What is sent, where the form holds more than that. */
  bodyOf?: (value: Values) => Values;
  /** Where to go when it is there; to its page by default. */
  then?: (record: { id: string }) => string;
}

export function CreatePage({ isWaiting, ...props }: CreatePageProps) {
  if (!isWaiting) return <CreateForm {...props} />;
  return (
    <Page title={props.title} about={props.about}>
      <Skeleton lines={12} />
    </Page>
  );
}

function CreateForm({
  resource,
  title,
  about,
  first,
  without,
  specials,
  initial = {},
  summary,
  above,
  formKey,
  needed,
  bodyOf = (value) => value,
  then,
}: Omit<CreatePageProps, "isWaiting">) {
  const navigate = useNavigate();
  const [value, setValue] = useState<Values>(initial);
  const [hasTyped, setTyped] = useState(false);
  const create = useWriteAny(resource.create!, {
    changes: [resource.list],
    onSuccess: (record) => {
      const made = record as unknown as { id: string; name?: string };
      say(`${made.name ?? resource.one} was created`);
      void navigate({ to: then?.(made) ?? `${resource.path}/${made.id}`, ignoreBlocker: true });
    },
  });
  const mayNot = useMayNot(calls[resource.create!]?.scope);
  const faults = faultsOf(create.error);
  const fields = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (create.error)
      fields.current?.querySelector("[aria-invalid], [role=alert]")?.scrollIntoView({ block: "center" });
  }, [create.error]);
  return (
    <Page title={title} about={about}>
      <LeaveGuard isUnsaved={hasTyped} />
      <form
        className={css.columns}
        onInput={() => setTyped(true)}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: bodyOf(value) });
        }}
      >
        <div ref={fields} className={css.fields}>
          {above?.(value, setValue)}
          <Panel>
            <SchemaForm
              key={formKey?.(value)}
              schema={resource.model.create}
              value={value}
              onChange={setValue}
              faults={faults}
              first={first}
              {...(needed && { needed: needed(value) })}
              {...(without && { without })}
              {...(specials && { specials })}
            />
          </Panel>
        </div>
        <aside className={css.aside} aria-label="Summary">
          <Panel title="Summary">
            <div className={css.summary}>
              {summary?.(value)}
              {create.error && <Refused refusal={create.error} />}
              <div className={css.buttons}>
                <Button type="submit" kind="primary" refused={mayNot} isBusy={create.isPending}>
                  {resource.creating ?? `Create ${resource.one}`}
                </Button>
                <ButtonLink to={resource.path as "/"} ignoreBlocker>
                  Cancel
                </ButtonLink>
              </div>
            </div>
          </Panel>
          <details className={css.curl}>
            <summary>The same with curl</summary>
            <Code text={curlOf(resource.create!, { body: bodyOf(value) })} />
          </details>
        </aside>
      </form>
    </Page>
  );
}

interface EditFormProps {
  resource: Resource;
  record: { id: string };
  first?: readonly string[];
  without?: readonly string[];
  specials?: Readonly<Record<string, Special>>;
  /** What a change does to what runs. */
  warning?: (changed: Values) => ReactNode;
  onSaved?: () => void;
}

/** Sends only the fields that were changed. */
export function EditForm({ resource, record, first, without, specials, warning, onSaved }: EditFormProps) {
  const [changed, setChanged] = useState<Values>({});
  // Fields of several lines keep what is typed in them, and are made anew to lose it.
  const [discarded, setDiscarded] = useState(0);
  const update = useWriteAny(resource.update!, {
    changes: [resource.list, resource.get!],
    onSuccess: () => {
      setChanged({});
      say("Saved");
      onSaved?.();
    },
  });
  const shape = resource.model.update as Shape;
  const known = Object.fromEntries(
    Object.entries(record).filter(([name, value]) => name in shape.properties && value !== null),
  );
  const change = (next: Values) => setChanged(changedIn(shape, known, next));
  const isChanged = Object.keys(changed).length > 0;
  const discard = () => {
    setChanged({});
    setDiscarded(discarded + 1);
    update.reset();
  };
  return (
    <form
      className={css.edit}
      onSubmit={(event) => {
        event.preventDefault();
        update.mutate({ params: { id: record.id }, body: changed });
      }}
    >
      <LeaveGuard isUnsaved={isChanged} />
      <Panel>
        <SchemaForm
          key={`${discarded} ${JSON.stringify(known)}`}
          schema={shape}
          value={withChanges(shape, known, changed)}
          onChange={change}
          faults={faultsOf(update.error)}
          {...(first && { first })}
          {...(without && { without })}
          {...(specials && { specials })}
        />
      </Panel>
      <div className={css.bar}>
        {isChanged && warning?.(changed)}
        {update.error && <Refused refusal={update.error} />}
        <div className={css.buttons}>
          <Button
            type="submit"
            kind="primary"
            isBusy={update.isPending}
            refused={!isChanged && "Nothing was changed yet"}
          >
            Save changes
          </Button>
          <Button onClick={discard} refused={!isChanged && "Nothing was changed yet"}>
            Discard
          </Button>
        </div>
      </div>
    </form>
  );
}
