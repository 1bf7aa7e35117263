/** The host driver keeps the port's promises on this machine. */
import { computeConformance } from "../../ports/compute/compute.conformance.ts";
import { openHost } from "./host-world.ts";

computeConformance("HostCompute", openHost);
