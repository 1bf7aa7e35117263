/** The commands by which a person runs the program of an endpoint outside of it, to see what it says. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";

const FOLDER = "host:";
/** Values with a secret in them are only known where workers run. */
const SECRET = /\{\{\s*\w*SECRET_\w+\s*\}\}/;

type Program = Pick<Endpoint, "id" | "image" | "entrypoint" | "cmd" | "env" | "type">;

/** With a key of its own, so that the program can also take jobs while it is tried. */
export function byHand(endpoint: Program): string {
  const { id, image, entrypoint, cmd, env } = endpoint;
  const shown = Object.entries(env).map(([name, value]) => [name, SECRET.test(value) ? "…" : value] as const);
  if (image.startsWith(FOLDER)) {
    const variables = shown.map(([name, value]) => `export ${name}=${quoted(value)}`);
    return [
      `eval "$(./millrace worker-env ${id})"`,
      ...variables,
      `cd ${quoted(image.slice(FOLDER.length))}`,
      [...entrypoint, ...cmd].map(quoted).join(" "),
    ].join("\n");
  }
  const [first, ...rest] = entrypoint;
  const words = [
    "docker run --rm -it --network host --env-file worker.env",
    ...shown.map(([name, value]) => `-e ${quoted(`${name}=${value}`)}`),
    ...(first === undefined ? [] : [`--entrypoint ${quoted(first)}`]),
    quoted(image),
    ...[...rest, ...cmd].map(quoted),
  ];
  const file = `./millrace worker-env ${id} | sed "s/^export //; s/'//g" > worker.env`;
  return [file, words.join(" ")].join("\n");
}

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
