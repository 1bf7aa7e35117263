/** Cards of GPU types and CPU flavors: memory, price, and what is free now. */
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";
import { type ReactNode, useState } from "react";
import { useRead } from "../api/queries.ts";
import { Button } from "../design/button.tsx";
import { moneyText, Status, type Tone } from "../design/facts.tsx";
import { Choice } from "../design/field.tsx";
import { Segments } from "../design/segments.tsx";
import css from "./compute-cards.module.css";

type Stock = GpuType["availability"];
const STOCK: Record<NonNullable<Stock>, { word: string; tone: Tone }> = {
  NONE: { word: "None free", tone: "bad" },
  LOW: { word: "One free", tone: "wait" },
  MEDIUM: { word: "Some free", tone: "good" },
  HIGH: { word: "Many free", tone: "good" },
};
/** What is free changes while one looks. */
const STOCK_MS = 15_000;

export function useGpuCatalog(product: "POD" | "SERVERLESS" | "CLUSTER", count = 1, isWanted = true) {
  const query = { include: "AVAILABILITY" as const, product: [product], count };
  return useRead("listGpuTypes", { query }, { refetchInterval: STOCK_MS, keep: true, enabled: isWanted });
}

export function useCpuCatalog(product: "POD" | "SERVERLESS", isWanted = true) {
  const query = { include: "AVAILABILITY" as const, product: [product] };
  return useRead("listCpuTypes", { query }, { refetchInterval: STOCK_MS, keep: true, enabled: isWanted });
}

/** Free ones first, then the cheaper ones. */
function inShopOrder<T extends { availability?: Stock }>(types: readonly T[], priceOf: (type: T) => number): T[] {
  const isOut = ({ availability }: T) => (availability === "NONE" ? 1 : 0);
  return types.toSorted((one, other) => isOut(one) - isOut(other) || priceOf(one) - priceOf(other));
}

interface GpuCardsProps {
  types: readonly GpuType[];
  /** In order of preference. */
  chosen: readonly GpuType[];
  onToggle: (type: GpuType) => void;
  priceOf: (type: GpuType) => number;
  /** GPUs of one instance: the price is that of all. */
  count: number;
}

const MEMORY = ["0", "16", "24", "48", "80"] as const;
const SHOWN_AT_FIRST = 12;

export function GpuCards({ types, chosen, onToggle, priceOf, count }: GpuCardsProps) {
  const [least, setLeast] = useState<(typeof MEMORY)[number]>("0");
  const [isWhole, setWhole] = useState(false);
  const fitting = inShopOrder(types, priceOf).filter(({ memory }) => memory >= Number(least));
  const isChosen = ({ id }: GpuType) => chosen.some((type) => type.id === id);
  const shown = isWhole ? fitting : fitting.filter((type, place) => place < SHOWN_AT_FIRST || isChosen(type));
  return (
    <>
      <div className={css.tools}>
        <Segments
          label="Memory of one GPU"
          value={least}
          options={MEMORY.map((value) => ({ value, label: value === "0" ? "Any memory" : `${value}+ GB` }))}
          onChange={setLeast}
        />
        <span className={css.help}>Free ones first, then by price</span>
      </div>
      <div className={css.cards}>{shown.map(cardOf)}</div>
      {shown.length < fitting.length && (
        <Button size="small" className={css.more!} onClick={() => setWhole(true)}>
          Show all {fitting.length}
        </Button>
      )}
    </>
  );

  function cardOf(type: GpuType) {
    return (
      <Card
        key={type.id}
        name={type.name}
        about={type.id}
        place={chosen.findIndex(({ id }) => id === type.id)}
        ofSeveral={chosen.length > 1}
        onToggle={() => onToggle(type)}
        stock={type.availability}
        isVirtual={type.virtual === true}
        price={priceOf(type) * count}
        facts={`${type.memory * count} GB${count > 1 ? ` (${count} x ${type.memory})` : ""}`}
      />
    );
  }
}

interface CpuCardsProps {
  types: readonly CpuType[];
  chosen: readonly { id: string; vcpuCount: number }[];
  onToggle: (type: CpuType) => void;
  /** vCPU of one instance: the price is that of all. */
  vcpuCount: (type: CpuType) => number;
  perVcpu: (type: CpuType) => number;
}

export function CpuCards({ types, chosen, onToggle, vcpuCount, perVcpu }: CpuCardsProps) {
  return (
    <div className={css.cards}>
      {inShopOrder(types, perVcpu).map((type) => (
        <Card
          key={type.id}
          name={`${type.name} ${type.id}`}
          about={type.group}
          place={chosen.findIndex(({ id }) => id === type.id)}
          ofSeveral={chosen.length > 1}
          onToggle={() => onToggle(type)}
          stock={type.availability}
          isVirtual={false}
          price={perVcpu(type) * vcpuCount(type)}
          facts={`${vcpuCount(type)} vCPU, ${vcpuCount(type) * type.ramGbPerVcpu} GB`}
        />
      ))}
    </div>
  );
}

interface CardProps {
  name: string;
  about: string;
  place: number;
  ofSeveral: boolean;
  onToggle: () => void;
  stock: Stock;
  isVirtual: boolean;
  price: number;
  facts: string;
}

function Card({ name, about, place, ofSeveral, onToggle, stock, isVirtual, price, facts }: CardProps) {
  const isChosen = place >= 0;
  return (
    <button type="button" className={css.card} aria-pressed={isChosen} title={about} onClick={onToggle}>
      <span className={css.title}>{name}</span>
      {isChosen && ofSeveral && <span className={css.place}>{place + 1}</span>}
      <span className={css.line}>
        <span>{facts}</span>
        <strong className="numbers">{moneyText(price)} / h</strong>
      </span>
      {stock && (
        <span className={css.line}>
          <Status value={STOCK[stock].word} tone={STOCK[stock].tone} />
          {isVirtual && <span title="These GPUs are made up: programs run, and find no device.">virtual</span>}
        </span>
      )}
    </button>
  );
}

/** A small number that comes in steps, such as GPUs of a worker. */
export function CountChoice({
  label,
  value,
  counts,
  onChange,
}: {
  label: string;
  value: number;
  counts: readonly number[];
  onChange: (value: number) => void;
}) {
  const options = counts.map((count) => ({ value: String(count), label: `${count} ${label}` }));
  return <Choice label={label} value={String(value)} options={options} onChange={(next) => onChange(Number(next))} />;
}

export function ComputeGroup({
  legend,
  help,
  fault,
  children,
}: {
  legend: string;
  help?: ReactNode;
  fault?: string | undefined;
  children: ReactNode;
}) {
  return (
    <fieldset className={css.group}>
      <legend className={css.legend}>{legend}</legend>
      {children}
      {fault && (
        <p className={css.fault} role="alert">
          {fault}
        </p>
      )}
      {help && <p className={css.help}>{help}</p>}
    </fieldset>
  );
}
