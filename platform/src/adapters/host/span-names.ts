/** The names of what joins groups of a folder's instances to those of other machines. */
import { bridgeName, tableName } from "./bridge-network.ts";
import { keyOf } from "./host-options.ts";

/** `folder` is the folder that holds the instances. */
export function spanNames(folder: string): { prefix: string; table: string } {
  const { key } = keyOf(folder);
  return { prefix: bridgeName(key), table: `${tableName(key)}_spans` };
}
