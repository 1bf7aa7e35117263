/** GraphQL as clients of one style send it: a document and its variables, or null where there are none. */
import { dataOf, errorOf } from "./graphql.ts";
import type { World } from "./world.ts";

type Asked = Pick<World, "call">;

/** The data of a document that must succeed. */
export const told = (world: Asked, query: string, variables?: object | null) => dataOf(world, query, { variables });

/** The first error of a document that is carried out and fails. */
export const refused = (world: Asked, query: string, variables?: object | null) => errorOf(world, query, { variables });
