/** Decides who may run programs from the machine's own files. It is asked when an endpoint is created or changed, and at each start. */
import { isHostImage } from "../ports/compute/by-image.ts";
import type { ImageRefusal, RefusesImage } from "../resources/endpoints/images.ts";

export interface HostModes {
  hostImages: "auto" | "on" | "off";
  /** With `optional`, the operator lets programs run without a sandbox where there is none. */
  sandbox: "auto" | "optional";
}

interface Facts {
  /** Whether an account belongs to the installation's owner. */
  isOwners: (account: string) => Promise<boolean>;
  /** Whether a sandbox isolates programs from the machine: files, network and limits. */
  isIsolated: () => boolean;
}

type RefusesHost = (account: string) => Promise<string | undefined>;

/** Says why an account may not run programs from the machine's own files. */
export function hostPolicy({ hostImages, sandbox }: HostModes, facts: Facts): RefusesHost {
  return async (account) => {
    if (hostImages === "off") return "images of the form 'host' are switched off here (MILLRACE_HOST_IMAGES=off)";
    if (await facts.isOwners(account)) return undefined;
    if (hostImages === "auto")
      return "only the installation's owner may run 'host' images (MILLRACE_HOST_IMAGES=on allows them for every account)";
    if (facts.isIsolated() || sandbox === "optional") return undefined;
    return "programs of this account cannot be isolated from this machine: install what the server's log says is missing, or set MILLRACE_SANDBOX=optional";
  };
}

/** Does the same for an image in a request, and also reports what is wrong with its folder now. */
export function imagePolicy({
  refusesHost,
  refusesFolder,
}: {
  refusesHost: RefusesHost;
  /** If this node runs programs, reports what is wrong with an image's folder and with the paths of its volumes. */
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
