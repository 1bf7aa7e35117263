/** Where listings come from, and what of it could not be used; for the owner of the installation. */
import { useRead } from "../../api/queries.ts";
import { When } from "../../design/facts.tsx";
import { Empty, Loaded, Panel } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import css from "./hub.module.css";

export function Sources() {
  const read = useRead("listHubSources", {}, { refetchInterval: 10_000 });
  return (
    <Loaded read={read}>
      {({ sources }) =>
        sources.length === 0 ? (
          <Empty title="The hub has no sources" command="MILLRACE_HUB=/srv/hub ./millrace serve">
            Name folders or Git repositories of listings.
          </Empty>
        ) : (
          <Panel title="Sources" about="Of the node that answers. Folders are read every 10 seconds.">
            {sources.map(({ kind, place, listings, readAt, trouble, faults }) => (
              <div key={place} className={css.source}>
                <code className={css.place}>{place}</code>{" "}
                <span className="quiet">
                  {kind === "git" ? "Git" : "Folder"}, {listings} {listings === 1 ? "listing" : "listings"}, read{" "}
                  <When at={readAt} />
                </span>
                <Reason text={trouble} code={undefined} tone="bad" />
                {faults.length > 0 && (
                  <ul className={css.faults}>
                    {faults.map(({ file, field, why }) => (
                      <li key={`${file} ${field} ${why}`}>
                        <code>
                          {file} {field}
                        </code>{" "}
                        {why}
                      </li>
                    ))}
                  </ul>
                )}
              </div>
            ))}
            <p className={css.add}>
              Further folders and Git repositories are named in <code>MILLRACE_HUB</code> when the server starts.
            </p>
          </Panel>
        )
      }
    </Loaded>
  );
}
