/** Lifecycles as tables: which moves exist, where each may start and where it ends. */
import { problem } from "./problem.ts";

export interface Move<State extends string> {
  from: readonly State[];
  to: State;
}

export interface Lifecycle<State extends string, Name extends string> {
  readonly moves: Readonly<Record<Name, Move<State>>>;
  readonly states: readonly State[];
  can(state: State, move: Name): boolean;
  /** The only way to a new state; refuses a move that the table does not have. */
  next(state: State, move: Name): State;
  /** The states a move may start in, for a compare-and-set. */
  from(move: Name): readonly State[];
  /** A state that the service never leaves by itself: only the moves named as `revivals` lead out of it. */
  isFinal(state: State): boolean;
  /** The table as a Mermaid state diagram, for the documentation. */
  diagram(): string;
}

export function lifecycle<State extends string, Name extends string>(
  moves: Record<Name, Move<State>>,
  revivals: readonly Name[] = [],
): Lifecycle<State, Name> {
  const names = Object.keys(moves) as Name[];
  const states = [...new Set(names.flatMap((name) => [...moves[name].from, moves[name].to]))];
  const left = new Set(names.filter((name) => !revivals.includes(name)).flatMap((name) => moves[name].from));
  return {
    moves,
    states,
    can: (state, move) => moves[move].from.includes(state),
    next(state, move) {
      if (!moves[move].from.includes(state)) throw problem("wrong-state", `cannot ${move} while ${state}`);
      return moves[move].to;
    },
    from: (move) => moves[move].from,
    isFinal: (state) => !left.has(state),
    diagram: () =>
      [
        "stateDiagram-v2",
        ...names.flatMap((name) => moves[name].from.map((from) => `  ${from} --> ${moves[name].to}: ${name}`)),
      ].join("\n"),
  };
}
