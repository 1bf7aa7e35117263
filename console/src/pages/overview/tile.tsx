/** One figure of the overview, which leads to what it counts. */
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import css from "./overview.module.css";

interface TileProps {
  title: string;
  to: LinkProps["to"];
  value: ReactNode;
  about: ReactNode;
  tone?: "wait" | "bad" | undefined;
}

export function Tile({ title, to, value, about, tone }: TileProps) {
  return (
    <Link to={to} className={css.tile} data-tone={tone}>
      <span className={css.tileTitle}>{title}</span>
      <span className={css.tileValue}>{value}</span>
      <span className={css.tileAbout}>{about}</span>
    </Link>
  );
}
