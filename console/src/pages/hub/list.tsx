/** The hub: listings to deploy, what was deployed from them, and for operators where they come from. */
import type { HubListing } from "@millrace/platform/resources/hub/model.ts";
import { Link } from "@tanstack/react-router";
import { curlOf } from "../../api/curl.ts";
import { useMe } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { Choice } from "../../design/field.tsx";
import { Empty, Loaded, Page } from "../../design/layout.tsx";
import { ViewTabs } from "../../design/tabs.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { Deployments } from "./deployments.tsx";
import css from "./hub.module.css";
import { Sign } from "./sign.tsx";
import { Sources } from "./sources.tsx";

type Tab = "listings" | "deployed" | "sources";

export function HubPage() {
  const [shown] = useView<Tab>("show", "listings");
  const { data: me } = useMe();
  const tabs = [
    { value: "listings" as const, label: "Listings" },
    { value: "deployed" as const, label: "Deployed" },
    ...(me?.ownsInstallation ? [{ value: "sources" as const, label: "Sources" }] : []),
  ];
  return (
    <Page
      title="Hub"
      about="Endpoints and Pods that are ready to deploy. Tests of their own show that they work."
      curl={curlOf("listHubListings")}
      tabs={<ViewTabs label="Hub" name="show" fallback="listings" tabs={tabs} />}
    >
      {shown === "deployed" ? <Deployments /> : shown === "sources" ? <Sources /> : <Listings />}
    </Page>
  );
}

const EVERY = "all";

function Listings() {
  const [search = "", setSearch] = useView("search");
  const [category, setCategory] = useView<string>("category", EVERY);
  const read = useRead("listHubListings", {});
  return (
    <Loaded read={read}>
      {({ listings }) => {
        const categories = [...new Set(listings.map((one) => one.category))].sort();
        const shown = listings.filter((one) => fits(one, search, category));
        return (
          <>
            <div className={css.tools}>
              <SearchField label="Search the hub" value={search} onChange={setSearch} />
              <Choice
                label="Category"
                value={category}
                onChange={setCategory}
                options={[EVERY, ...categories].map((value) => ({
                  value,
                  label: value === EVERY ? "Every category" : value,
                }))}
              />
            </div>
            {shown.length > 0 ? (
              <div className={css.grid}>
                {shown.map((listing) => (
                  <Card key={listing.id} listing={listing} />
                ))}
              </div>
            ) : (
              <Nothing isEmpty={listings.length === 0} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** As the server searches, but at once: all listings are here already. */
function fits(listing: HubListing, search: string, category: string): boolean {
  const { title, description, name, owner, tags } = listing;
  const text = [title, description, name, owner, ...tags].join("\n").toLowerCase();
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text.includes(word)) && (category === EVERY || category === listing.category);
}

function Card({ listing }: { listing: HubListing }) {
  const { id, title, description, category, type, runsOn, owner, tags } = listing;
  return (
    <Link to="/hub/$id" params={{ id }} className={css.card!}>
      <span className={css.cardHead}>
        <Sign category={category} />
        <span className={css.cardTitle}>
          <strong>{title}</strong>
          <span className={css.owner}>by {owner}</span>
        </span>
      </span>
      <p>{description}</p>
      <span className={css.marks}>
        <span className={css.mark}>{type === "POD" ? "Pod" : "Endpoint"}</span>
        <span className={css.mark}>{runsOn}</span>
        {tags
          .filter((tag) => !tag.includes(runsOn))
          .slice(0, 2)
          .map((tag) => (
            <span key={tag} className={css.mark}>
              {tag}
            </span>
          ))}
      </span>
    </Link>
  );
}

function Nothing({ isEmpty }: { isEmpty: boolean }) {
  if (!isEmpty) return <Empty title="Nothing fits">No listing has all of these words in this category.</Empty>;
  return (
    <Empty title="The hub is empty" command="MILLRACE_HUB=/srv/hub ./millrace serve">
      An operator fills it from a folder or a Git repository of listings.
    </Empty>
  );
}
