/** Lifecycles as tables: which states and moves exist, where each move starts and ends, and who may ask for it. */
import { problem } from "./problem.ts";
import type { Scope } from "./scope.ts";

export interface Move<State extends string> {
  from: readonly State[];
  to: State;
  /** What the key of a caller must allow to ask for this move. Without it, only the service makes the move. */
  asked?: Scope;
}

declare const moved: unique symbol;

/** A state that a table led to. Records keep no other, so that a state written by hand is a type error. */
export type Moved<State extends string> = State & { readonly [moved]: true };

interface Table<State extends string, Name extends string> {
  /** What has this life, as messages and documents call it. */
  of: string;
  /** What each state means, as one sentence that a person reads. */
  states: Readonly<Record<State, string>>;
  /** Where a new record begins. */
  begins: readonly State[];
  moves: Readonly<Record<Name, Move<State>>>;
  /** Moves that lead out of a final state. */
  revivals?: readonly Name[];
}

export interface Lifecycle<State extends string, Name extends string> {
  readonly of: string;
  readonly moves: Readonly<Record<Name, Move<State>>>;
  readonly states: readonly State[];
  readonly meanings: Readonly<Record<State, string>>;
  readonly begins: readonly State[];
  /** The moves that callers may ask for, in one state or another. */
  readonly asked: readonly Name[];
  can(state: State, move: Name): boolean;
  /** Refuses a caller who asks for a move in a state that it does not start in. */
  assert(state: State, move: Name): void;
  /** Where a move that a caller asks for leads, where it is not refused. */
  next(state: State, move: Name): Moved<State>;
  /** Where a move of the service leads. One that the table lacks is a programming error, which names the record. */
  move(record: string, state: State, move: Name): Moved<State>;
  /** The state of a new record, which is one of those that a life begins with. */
  begin(state: State): Moved<State>;
  /** Where a move leads and the states that it may start in, for a compare-and-set that is made of both. */
  to(move: Name): Moved<State>;
  from(move: Name): readonly State[];
  /** The moves that a caller may ask for in a state. */
  actions(state: State): Name[];
  /** A state that the service never leaves by itself: only the moves named as `revivals` lead out of it. */
  isFinal(state: State): boolean;
  /** The table as a Mermaid state diagram, for the documentation. */
  diagram(): string;
}

export type StateOf<L> = L extends Lifecycle<infer State, string> ? State : never;

export class WrongMove extends Error {}

export function lifecycle<State extends string, Name extends string>(
  table: Table<State, Name>,
): Lifecycle<State, Name> {
  const { of, moves, begins, revivals = [] } = table;
  const names = Object.keys(moves) as Name[];
  const states = Object.keys(table.states) as State[];
  const asked = names.filter((name) => moves[name].asked !== undefined);
  const left = new Set(names.filter((name) => !revivals.includes(name)).flatMap((name) => moves[name].from));
  const assert = (state: State, move: Name) => {
    if (!moves[move].from.includes(state)) throw problem("wrong-state", `cannot ${move} while ${state}`);
  };
  return {
    assert,
    ...{ of, moves, states, begins, asked, meanings: table.states },
    can: (state, move) => moves[move].from.includes(state),
    next(state, move) {
      assert(state, move);
      return moves[move].to as Moved<State>;
    },
    move(record, state, move) {
      const { from, to } = moves[move];
      if (!from.includes(state))
        throw new WrongMove(`${of} ${record} cannot ${move} from ${state} to ${to}: its lifecycle has no such move`);
      return to as Moved<State>;
    },
    begin(state) {
      if (!begins.includes(state))
        throw new WrongMove(`${of} cannot begin as ${state}: its lifecycle begins elsewhere`);
      return state as Moved<State>;
    },
    to: (move) => moves[move].to as Moved<State>,
    from: (move) => moves[move].from,
    actions: (state) => asked.filter((name) => moves[name].from.includes(state)),
    isFinal: (state) => !left.has(state),
    diagram: () =>
      [
        "stateDiagram-v2",
        ...begins.map((state) => `  [*] --> ${state}`),
        ...names.flatMap((name) => moves[name].from.map((from) => `  ${from} --> ${moves[name].to}: ${name}`)),
      ].join("\n"),
  };
}
