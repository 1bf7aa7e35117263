/** The hub in GraphQL: listings with their releases, in the words of public clients. */
import { GraphQLInputObjectType, GraphQLObjectType, type GraphQLOutputType } from "graphql";
import { timestamp } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Listing } from "../../resources/hub/listing.ts";
import { hubOperations } from "../../resources/hub/operations.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { all, allIn, int, listOf, text } from "./fields.ts";
import { orNull } from "./finding.ts";
import { lookup } from "./operations.ts";
import { Json } from "./scalars.ts";

const object = (name: string, fields: Record<string, { type: GraphQLOutputType }>) =>
  new GraphQLObjectType({ name, fields });

const GitBuild = object("GitBuild", all(text, "id", "imageName"));
const Release = object("HubRelease", {
  ...all(text, "id", "name", "tagName", "body", "readme", "branch", "license", "config", "iconUrl", "authorName"),
  ...all(text, "createdAt", "releasedAt", "updatedAt"),
  ...all(int, "deploys"),
  ...all(Json, "tests"),
  ...all(GitBuild, "build"),
});
const ListingType = object("Listing", {
  ...all(text, "id", "title", "repoId", "repoName", "repoOwner", "repoOwnerAvatarUrl", "description", "category"),
  ...all(text, "type", "language", "createdAt", "updatedAt"),
  ...all(int, "stars", "views", "deploys", "openIssues", "watchers"),
  ...all(listOf(text), "tags"),
  ...all(Release, "listedRelease"),
});

const ListingsInput = new GraphQLInputObjectType({
  name: "ListingsInput",
  fields: {
    ...allIn(text, "searchQuery", "category", "orderBy", "orderDirection", "owner"),
    ...allIn(int, "limit", "offset"),
  },
});

interface Asked {
  searchQuery?: string | null;
  category?: string | null;
  owner?: string | null;
  orderBy?: string | null;
  orderDirection?: string | null;
  limit?: number | null;
  offset?: number | null;
}

const listed = lookup(hubOperations.listHubListings);
const shown = lookup(hubOperations.getHubListing);

export const hubQueries = {
  listings: {
    type: listOf(ListingType),
    args: { input: { type: ListingsInput } },
    operation: listed,
    async answer(_call, context, { input }) {
      const { searchQuery, category, owner, limit, offset, ...order } = (input ?? {}) as Asked;
      const { hub } = context.services;
      const asked = { search: searchQuery ?? "", category: category ?? "", owner: owner ?? "" };
      const rows = inOrder(await rowsOf(await hub.listings(asked), context), order);
      const from = Math.max(0, offset ?? 0);
      return rows.slice(from, limit ? from + Math.max(0, limit) : undefined);
    },
  },
  listing: {
    type: ListingType,
    args: { id: { type: text } },
    operation: shown,
    params: ({ id }) => ({ id: id ?? "" }),
    answer: ({ params }, context) => oneRow(params.id!, context),
  },
  listingFromRepo: {
    type: ListingType,
    args: { repoOwner: { type: text }, repoName: { type: text } },
    operation: shown,
    params: ({ repoOwner, repoName }) => ({ id: `${repoOwner ?? ""}.${repoName ?? ""}` }),
    answer: ({ params }, context) => oneRow(params.id!, context),
  },
} satisfies OperationFields;

async function oneRow(id: string, context: GraphContext) {
  const found = await orNull(context.services.hub.listing(id));
  return found && (await rowsOf([found], context))[0];
}

async function rowsOf(listings: readonly Listing[], { services: { hub } }: GraphContext) {
  const deploys = await hub.deploys();
  return listings.map((listing) => rowOf(listing, deploys.get(listing.id) ?? 0));
}

/** Nobody counts stars, views and issues here. */
const UNCOUNTED = { stars: 0, views: 0, openIssues: 0, watchers: 0 };

function rowOf(listing: Listing, deploys: number) {
  const { id, title, owner, name, description, category, type, tags, image, releaseId, version } = listing;
  const at = timestamp(listing.releasedAt);
  const times = { createdAt: at, updatedAt: at };
  return {
    ...{ id, title, description, category, type, tags, deploys, ...UNCOUNTED, ...times },
    ...{ repoId: id, repoOwner: owner, repoName: name, repoOwnerAvatarUrl: null, language: null },
    listedRelease: {
      ...{ id: releaseId, name: version, tagName: version, deploys, ...times, releasedAt: at },
      ...{ body: "", branch: null, license: listing.license, iconUrl: listing.iconUrl, authorName: owner },
      readme: listing.readme,
      config: JSON.stringify(listing.config),
      tests: listing.testsText,
      // A client takes a release without a build for one that cannot be deployed yet.
      build: image === null ? null : { id: releaseId, imageName: image },
    },
  };
}

type Row = ReturnType<typeof rowOf>;

const orders: Record<string, (row: Row) => string | number> = {
  createdAt: ({ createdAt }) => createdAt,
  updatedAt: ({ updatedAt }) => updatedAt,
  releasedAt: ({ listedRelease }) => listedRelease.releasedAt,
  deploys: ({ deploys }) => deploys,
  stars: ({ stars }) => stars,
  views: ({ views }) => views,
};

/** Rows that are equal in this order stay by title. */
function inOrder(rows: readonly Row[], { orderBy, orderDirection }: Pick<Asked, "orderBy" | "orderDirection">): Row[] {
  if (!orderBy) return [...rows];
  const by = Object.hasOwn(orders, orderBy) ? orders[orderBy] : undefined;
  if (!by) throw problem("invalid", `'orderBy' must be one of ${Object.keys(orders).join(", ")}.`);
  const sign = orderDirection?.toLowerCase() === "asc" ? 1 : -1;
  return rows.toSorted((a, b) => (by(a) < by(b) ? -sign : by(a) > by(b) ? sign : 0));
}
