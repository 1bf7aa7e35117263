/** What uses a volume or a registry, as links. */
import { Link } from "@tanstack/react-router";
import { useRead } from "../api/queries.ts";
import { Loaded, Panel } from "../design/layout.tsx";
import type { User } from "./used-by.ts";
import css from "./users.module.css";

/** The lists in which users are looked for. */
function useUsers() {
  const pods = useRead("listPods", {});
  const endpoints = useRead("listEndpoints", {});
  const templates = useRead("listTemplates", {});
  return {
    error: pods.error ?? endpoints.error ?? templates.error,
    refetch: () => Promise.all([pods.refetch(), endpoints.refetch(), templates.refetch()]),
    data:
      pods.data && endpoints.data && templates.data
        ? { pods: pods.data.pods, endpoints: endpoints.data.endpoints, templates: templates.data.templates }
        : undefined,
  };
}

export function UsersPanel({
  find,
  none,
}: {
  find: (known: NonNullable<ReturnType<typeof useUsers>["data"]>) => User[];
  none: string;
}) {
  const read = useUsers();
  return (
    <Panel title="Used by">
      <Loaded read={read} lines={2}>
        {(known) => {
          const users = find(known);
          if (users.length === 0) return <p className="quiet">{none}</p>;
          return (
            <ul className={css.users}>
              {users.map(({ kind, id, name, to, how }) => (
                <li key={id}>
                  <span className="quiet">{kind}</span> <Link to={to}>{name}</Link> {how && <code>{how}</code>}
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Panel>
  );
}
