/** The places of the console, for the navigation, the search and the keys that go there. */
import {
  Boxes,
  Building2,
  CircuitBoard,
  Coins,
  Container,
  FileStack,
  HardDrive,
  History,
  KeyRound,
  Library,
  Server,
  Share2,
  Store,
  UserRound,
  Warehouse,
  Zap,
} from "lucide-react";
import type { ComponentType } from "react";

export interface Place {
  title: string;
  path: string;
  icon: ComponentType;
  /** `g` and this letter go there. */
  letter: string;
  isForOperators?: boolean;
}

export const places: { title: string | undefined; places: Place[] }[] = [
  { title: undefined, places: [{ title: "Overview", path: "/", icon: CircuitBoard, letter: "o" }] },
  {
    title: "Compute",
    places: [
      { title: "Hub", path: "/hub", icon: Store, letter: "h" },
      { title: "Serverless", path: "/serverless", icon: Zap, letter: "e" },
      { title: "Public endpoints", path: "/public-endpoints", icon: Share2, letter: "x" },
      { title: "Pods", path: "/pods", icon: Container, letter: "p" },
      { title: "Clusters", path: "/clusters", icon: Boxes, letter: "c" },
    ],
  },
  {
    title: "Resources",
    places: [
      { title: "Templates", path: "/templates", icon: FileStack, letter: "t" },
      { title: "Volumes", path: "/volumes", icon: HardDrive, letter: "v" },
      { title: "Secrets", path: "/secrets", icon: KeyRound, letter: "s" },
      { title: "Registries", path: "/registries", icon: Warehouse, letter: "r" },
      { title: "Catalog", path: "/catalog", icon: Library, letter: "l" },
    ],
  },
  {
    title: "Account",
    places: [
      { title: "Billing", path: "/billing", icon: Coins, letter: "b" },
      { title: "Audit log", path: "/audit", icon: History, letter: "a" },
      { title: "Account", path: "/account", icon: UserRound, letter: "u" },
    ],
  },
  {
    title: "Operator",
    places: [
      { title: "Machines", path: "/machines", icon: Server, letter: "m", isForOperators: true },
      { title: "Installation", path: "/installation", icon: Building2, letter: "i", isForOperators: true },
    ],
  },
];

export const allPlaces = places.flatMap((group) => group.places);
