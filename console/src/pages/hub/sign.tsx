/** The sign of a listing, by what it is for. Icons of authors are not loaded: nothing here asks another host. */
import { AudioLines, Box, Code, Film, Globe, Image, MessageSquareText, Sigma } from "lucide-react";
import type { ComponentType } from "react";
import css from "./hub.module.css";

const SIGNS: Record<string, ComponentType> = {
  language: MessageSquareText,
  embedding: Sigma,
  image: Image,
  audio: AudioLines,
  video: Film,
  web: Globe,
  development: Code,
};

export function Sign({ category }: { category: string }) {
  const Found = SIGNS[category] ?? Box;
  return (
    <span className={css.sign} aria-hidden="true">
      <Found />
    </span>
  );
}
