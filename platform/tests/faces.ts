/** Resources on each surface, for tests: a thing as it is, and how each surface makes, changes and reads it. */
import type { SeededRandom } from "../src/kernel/random.ts";
import { dataOf } from "./graphql.ts";
import type { World } from "./world.ts";

// biome-ignore lint/suspicious/noExplicitAny: the answer of a surface; a test reads the fields that it expects
export type Answered = any;

/** One surface of a resource. `T` is the thing itself, the same for every surface. */
export interface Face<T> {
  make(world: World, thing: T): Promise<string>;
  /** Sends only the named fields. Absent if the surface has no such operation. */
  change?(world: World, id: string, change: Partial<T>): Promise<void>;
  read(world: World, id: string): Promise<T>;
}

export interface Resource<T> {
  any(random: SeededRandom): T;
  /** Picks a valid change. */
  change(random: SeededRandom, before: T): Partial<T>;
  faces: Record<string, Face<T>>;
}

export async function called(world: World, method: string, path: string, body?: object): Promise<Answered> {
  const { status, json, text } = await world.call(method, path, body && { body });
  if (status >= 300)
    throw new Error(`${method} ${path} was answered with ${status}: ${text} to ${JSON.stringify(body)}`);
  return json;
}

interface Words<T> {
  /** The body for a thing. For a change, it has only the fields that are given. */
  said(thing: Partial<T>): object;
  shown(record: Answered): T;
}

/** A REST surface on a path. */
export const rest = <T>(path: string, { said, shown }: Words<T>): Face<T> => ({
  make: async (world, thing) => (await called(world, "POST", path, said(thing))).id,
  async change(world, id, change) {
    await called(world, "PATCH", `${path}/${id}`, said(change));
  },
  read: async (world, id) => shown(await called(world, "GET", `${path}/${id}`)),
});

interface Documents<T> extends Words<T> {
  /** The names of the mutations, and the type of their input. */
  make: (thing: T) => [field: string, input: string];
  change?: [field: string, input: string];
  /** The name of the id in the input of a change. */
  id?: string;
  /** The account's list that contains the thing, and the fields to read. */
  list: string;
  selection: string;
}

export const graphql = <T>(how: Documents<T>): Face<T> => {
  const done = (world: World, [field, input]: [string, string], said: object) =>
    dataOf(world, `mutation ($input: ${input}) { done: ${field}(input: $input) { id } }`, {
      variables: { input: said },
    });
  const { make, change, id: named = "id", list, selection } = how;
  return {
    make: async (world, thing) => (await done(world, make(thing), how.said(thing))).done.id,
    ...(change && {
      async change(world: World, id: string, thing: Partial<T>) {
        await done(world, change, { [named]: id, ...how.said(thing) });
      },
    }),
    async read(world, id) {
      const { myself } = await dataOf(world, `{ myself { ${list} { id ${selection} } } }`);
      return how.shown(myself[list].find((one: Answered) => one.id === id));
    },
  };
};

/** Picks the given names that are present, and renames each. */
export function renamed(thing: Readonly<Record<string, unknown>>, names: Readonly<Record<string, string>>): object {
  const given = Object.entries(thing).filter(([name, value]) => name in names && value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [names[name]!, value]));
}

export type Env = Record<string, string>;

/** A container, with the fields that templates, endpoints and Pods share. */
export interface Container {
  image: string;
  command: { entrypoint: string[]; cmd: string[] };
  disk: number;
  env: Env;
  ports: string[];
}

const WORDS = ["a", "run it", 'say "hello"', "ä ö", "x=y", "{}", "line\nbreak", "'", "\\", "--flag", "漢字", "$HOME"];

const some = <T>(random: SeededRandom, most: number, make: (i: number) => T): T[] =>
  Array.from({ length: random.below(most + 1) }, (_, i) => make(i));

export const anyEnv = (random: SeededRandom): Env =>
  Object.fromEntries(
    some(random, 4, (i) => [`${random.pick(["A", "b.c", "Ü", "with-dash"])}${i}`, random.pick(WORDS)]),
  );

export const anyContainer = (random: SeededRandom): Container => ({
  image: `example/image:${random.below(100)}`,
  command: { entrypoint: some(random, 2, () => random.pick(WORDS)), cmd: some(random, 3, () => random.pick(WORDS)) },
  // The smallest Pod on CPUs has no more.
  disk: 1 + random.below(20),
  env: anyEnv(random),
  ports: some(random, 4, (i) => `${1000 * (i + 1) + random.below(1000)}/${random.pick(["http", "tcp"])}`),
});

/** A command as one text, which is GraphQL's form. */
export const commandText = ({ entrypoint, cmd }: Container["command"]): string =>
  entrypoint.length + cmd.length === 0 ? "" : JSON.stringify({ entrypoint, cmd });

export const commandIn = (text: string): Container["command"] =>
  text === "" ? { entrypoint: [], cmd: [] } : JSON.parse(text);

export const pairsOf = (env: Env) => Object.entries(env).map(([key, value]) => ({ key, value }));
export const envIn = (pairs: { key: string; value: string }[]): Env =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
export const portsIn = (text: string): string[] => (text === "" ? [] : text.split(","));

/** The container in the form of each surface. */
export const containerWords = {
  v2: {
    said: ({ image, command, disk, env, ports }: Partial<Container>) => ({ image, ...command, disk, env, ports }),
    shown: ({ image, entrypoint, cmd, disk, env, ports }: Answered): Container => ({
      ...{ image, command: { entrypoint, cmd }, disk, env, ports },
    }),
  },
  v1: {
    said: ({ image, command, disk, env, ports }: Partial<Container>) => ({
      ...{ imageName: image, containerDiskInGb: disk, env, ports },
      ...(command && { dockerEntrypoint: command.entrypoint, dockerStartCmd: command.cmd }),
    }),
    shown: (record: Answered): Container => ({
      ...{ image: record.imageName, disk: record.containerDiskInGb, env: record.env, ports: record.ports },
      command: { entrypoint: record.dockerEntrypoint, cmd: record.dockerStartCmd },
    }),
  },
  graphql: {
    said: ({ image, command, disk, env, ports }: Partial<Container>) => ({
      ...{ imageName: image, containerDiskInGb: disk },
      ...(command && { dockerArgs: commandText(command) }),
      ...(env && { env: pairsOf(env) }),
      ...(ports && { ports: ports.join() }),
    }),
    selection: "imageName dockerArgs containerDiskInGb ports",
    shown: ({ imageName, dockerArgs, containerDiskInGb, ports }: Answered): Omit<Container, "env"> => ({
      ...{ image: imageName, command: commandIn(dockerArgs), disk: containerDiskInGb, ports: portsIn(ports) },
    }),
  },
};
