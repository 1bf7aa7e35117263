/** Who may run programs of the machine's own files: asked when an endpoint is made or changed, and again at each start. */
import { isHostImage } from "../ports/compute/by-image.ts";
import type { ImageRefusal, RefusesImage } from "../resources/endpoints/images.ts";

export interface HostModes {
  hostImages: "auto" | "on" | "off";
  /** With `optional`, the operator lets programs run as they are where nothing keeps them apart. */
  sandbox: "auto" | "optional";
}

interface Facts {
  /** Whether an account is that of the installation's owner. */
  isOwners: (account: string) => Promise<boolean>;
  /** Whether programs are kept apart from the machine: files, network, limits and all. */
  isIsolated: () => boolean;
}

type RefusesHost = (account: string) => Promise<string | undefined>;

/** Why programs of the machine's own files are not run for an account. */
export function hostPolicy({ hostImages, sandbox }: HostModes, facts: Facts): RefusesHost {
  return async (account) => {
    if (hostImages === "off") return "images of the form 'host' are switched off here (MILLRACE_HOST_IMAGES=off)";
    if (await facts.isOwners(account)) return undefined;
    if (hostImages === "auto")
      return "images of the form 'host' run for the installation's owner alone (MILLRACE_HOST_IMAGES=on allows them to every account)";
    if (facts.isIsolated() || sandbox === "optional") return undefined;
    return "programs of this account cannot be kept apart from this machine: the server's log says what is missing, or set MILLRACE_SANDBOX=optional";
  };
}

/** The same of an image that somebody sends, with what is wrong with its folder as it is now. */
export function imagePolicy({
  refusesHost,
  refusesFolder,
}: {
  refusesHost: RefusesHost;
  /** Where this node runs programs: what it says of the folder of an image, and of where volumes are to be. */
  refusesFolder:
    | ((image: string, account: string, paths?: readonly string[]) => Promise<string | undefined>)
    | undefined;
}): RefusesImage {
  return async (image, account, paths): Promise<ImageRefusal | undefined> => {
    if (!isHostImage(image)) return undefined;
    const forbidden = await refusesHost(account);
    if (forbidden !== undefined) return { code: "not-allowed", reason: forbidden };
    const reason = await refusesFolder?.(image, account, paths);
    return reason === undefined ? undefined : { code: "invalid", reason };
  };
}
