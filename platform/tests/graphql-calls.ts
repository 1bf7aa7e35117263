/** GraphQL in the style of some clients: a document and its variables, or null if there are none. */
import { dataOf, errorOf } from "./graphql.ts";
import type { World } from "./world.ts";

type Asked = Pick<World, "call">;

/** Returns the data of a document that must succeed. */
export const told = (world: Asked, query: string, variables?: object | null) => dataOf(world, query, { variables });

/** Returns the first error of a document that is executed and fails. */
export const refused = (world: Asked, query: string, variables?: object | null) => errorOf(world, query, { variables });
