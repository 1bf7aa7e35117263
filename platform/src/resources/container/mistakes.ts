/** Finds mistakes in container fields that a schema cannot express and that would otherwise only show when nothing starts. */
import { isHostImage } from "../../ports/compute/by-image.ts";
import { HOST_RESERVED, plainPath, refusedPath } from "../../ports/compute/mount-paths.ts";

interface ContainerFields {
  image?: string;
  ports?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

const HOST = "host:";
const HIGHEST_PORT = 65_535;

const SYMMETRIC = /^[7-9]\d{4}\/tcp$/;

/**
 * Returns one line per mistake, in the form of schema errors. It checks only the fields that were sent, so values that an older release
 * accepted stay valid. With `symmetric`, a TCP port from 70000 on is allowed: it asks for a port with the same number inside and outside.
 */
export function containerMistakes(
  { image, ports = [], env = {} }: ContainerFields,
  { symmetric = false } = {},
): string[] {
  const isWrong = (port: string) => !isListenable(port) && !(symmetric && SYMMETRIC.test(port));
  const also = symmetric ? ", or with tcp one from 70000 on that stands for the same inside and outside" : "";
  const isFolderless = image?.startsWith(HOST) && !image.startsWith(`${HOST}/`);
  return [
    ...(isFolderless ? ["$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"] : []),
    ...(hasSpace(image) && !image!.startsWith(HOST) ? [`$.image: must have no spaces, not '${clip(image!)}'`] : []),
    ...Object.keys(env).flatMap((name) =>
      hasSpace(name) ? [`$.env: names must have no spaces, not '${clip(name)}'`] : [],
    ),
    ...ports.flatMap((port, i) => (isWrong(port) ? [`$.ports[${i}]: must be a port from 1 to 65535${also}`] : [])),
  ];
}

const hasSpace = (text = "") => /\s/.test(text);

const clip = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

const isListenable = (port: string) => Number.parseInt(port, 10) <= HIGHEST_PORT;

interface Mounting {
  image: string;
  mounts: { persistent?: { path: string }; network?: readonly { path: string }[] };
}

/** Finds mistakes in mount paths. Which paths are allowed depends on the image too. */
export function mountMistakes({ image, mounts }: Mounting): string[] {
  const reserved = isHostImage(image) ? HOST_RESERVED : [];
  return named(mounts).flatMap(([where, path]) => {
    const reason = refusedPath(path, reserved);
    return reason === undefined ? [] : [`$.mounts.${where}.path: ${reason}`];
  });
}

/** The paths at which programs see the volumes. */
export const mountPaths = (mounts: Mounting["mounts"]): string[] => named(mounts).map(([, path]) => plainPath(path));

/** Whether a change moves a mount to another path, or changes the image under the mounts. */
export const isMountedOtherwise = (before: Mounting, after: Mounting): boolean =>
  before.image !== after.image || mountPaths(before.mounts).join() !== mountPaths(after.mounts).join();

function named({ persistent, network = [] }: Mounting["mounts"]): (readonly [field: string, path: string])[] {
  const volumes = network.map(({ path }, i) => [`network[${i}]`, path] as const);
  return persistent ? [["persistent", persistent.path], ...volumes] : volumes;
}
