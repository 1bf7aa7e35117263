/** What a schema cannot say of container fields: mistakes that would only show when nothing starts. */

interface ContainerFields {
  image?: string;
  ports?: readonly string[];
}

const HOST = "host:";
const HIGHEST_PORT = 65_535;

/** One line for each, shaped as those of a schema. Only what was sent is judged: what an older release let in stays as it is. */
export function containerMistakes({ image, ports = [] }: ContainerFields): string[] {
  const isFolderless = image?.startsWith(HOST) && !image.startsWith(`${HOST}/`);
  return [
    ...(isFolderless ? ["$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"] : []),
    ...ports.flatMap((port, i) => (isListenable(port) ? [] : [`$.ports[${i}]: must be a port from 1 to 65535`])),
  ];
}

/** The schema also takes numbers above: a Pod may ask by one above 70000 for a port that is the same inside and outside. */
const isListenable = (port: string) => Number.parseInt(port, 10) <= HIGHEST_PORT;
