/** Reasons why something cannot be started, or was ended by its machine. Drivers word them, since they know what happened. */
import { type Entry, told } from "./entry.ts";

export const startReasons = {
  "driver-waits": told(
    "The machine accepted the start and is waiting for something.",
    "Wait. The text says what it waits for.",
  ),
  "boot-failed": told("The start failed in an unexpected way.", "Read the text. If it lasts, tell the operator."),
  "start-refused": told("The machine refuses to start it with these settings.", "Change what the text names."),
  "image-not-found": told("The registry has no such image.", "Correct the name or the tag of the image."),
  "image-denied": told("The registry does not let this account pull the image.", "Add a registry credential."),
  "image-invalid": told("The name of the image cannot be read.", "Write it like `registry/name:tag`."),
  "image-unsupported": told(
    "No driver of the machine runs this kind of image.",
    "Use another image, or install Docker.",
  ),
  "registry-away": told("The registry of the image does not answer.", "Wait: it is tried again."),
  "pull-failed": told("The machine could not pull the image.", "Read the text; check the registry."),
  "engine-away": told("The container engine does not answer.", "Ask the operator to start Docker or Podman."),
  "engine-refused": told("The container engine refuses to start it.", "Change what the text names."),
  "gpu-in-use": told("Too few GPUs are free on the machine.", "Wait, or ask for fewer or other GPUs."),
  "port-taken": told("A port that it needs is in use.", "Choose another port."),
  "ports-used-up": told(
    "The machine has no port left to publish.",
    "Publish fewer ports, or ask the operator for more.",
  ),
  "quota-refused": told(
    "A quota of the Kubernetes namespace refuses it.",
    "End something else, or ask the operator for a larger quota.",
  ),
  "network-unavailable": told("The machine cannot give it the network that it needs.", "Ask the operator."),
  "volume-missing": told("A volume that it mounts does not exist.", "Mount another volume, or make it again."),
  "volume-invalid": told("A volume cannot be mounted there.", "Change the mount path."),
  "folder-refused": told("Programs may not run from this folder of the machine.", "Name another folder."),
  "sandbox-missing": told("The machine cannot isolate programs.", "Ask the operator to install bubblewrap."),
  "command-too-long": told("The command is longer than the machine takes.", "Shorten the command or the variables."),
  "nothing-left": told("The instance that it ran on no longer exists.", "Start it again."),
  "cluster-gone": told("Its cluster no longer exists.", "Make a new cluster."),
  "secret-missing": told("A variable names a secret that cannot be read.", "Make the secret, or correct its name."),
  "invalid-setting": told("A variable has a value that cannot be used.", "Correct the variable that the text names."),
  "disk-full": told("The disk of the server is full.", "Make room, or write less; ask the operator."),
  "data-folder-gone": told("The data folder of the server is gone.", "Ask the operator to bring it back."),
} as const satisfies Record<string, Entry>;

export type StartCode = keyof typeof startReasons;
