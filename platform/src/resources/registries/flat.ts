/** The flat dialect of registries, which REST v1 and GraphQL call registry auths. Every field keeps its name. */
import { flatDialect } from "../../kernel/flat.ts";
import { type KeptRegistry, Registry } from "./model.ts";
import type { NewRegistry } from "./service.ts";

export const registryDialect = flatDialect<KeptRegistry, NewRegistry>(Registry);
