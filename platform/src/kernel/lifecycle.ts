/** Lifecycles as tables: which states and moves exist, where each move starts and ends, and who may ask for it. */
import { problem } from "./problem.ts";
import type { Scope } from "./scope.ts";

export interface Move<State extends string> {
  from: readonly State[];
  to: State;
  /** The scope that a caller's key needs to ask for this move. Without one, only the service makes the move. */
  asked?: Scope;
}

declare const moved: unique symbol;

/** A state that came out of a lifecycle table. Records hold only this type, so a state written by hand is a type error. */
export type Moved<State extends string> = State & { readonly [moved]: true };

interface Table<State extends string, Name extends string> {
  /** The thing that has this lifecycle, as messages and documents call it. */
  of: string;
  /** One sentence for people that says what each state means. */
  states: Readonly<Record<State, string>>;
  /** The states in which a new record may begin. */
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
  /** The moves that callers may ask for in at least one state. */
  readonly asked: readonly Name[];
  can(state: State, move: Name): boolean;
  /** Throws when a caller asks for a move in a state where it does not start. */
  assert(state: State, move: Name): void;
  /** Returns where a move leads that a caller asks for, or refuses it. */
  next(state: State, move: Name): Moved<State>;
  /** Returns where a move of the service leads. A move that the table lacks is a programming error, and the error names the record. */
  move(record: string, state: State, move: Name): Moved<State>;
  /** Returns the state of a new record. It must be one of `begins`. */
  begin(state: State): Moved<State>;
  /** Where a move leads, and the states in which it may start: a compare-and-set needs both. */
  to(move: Name): Moved<State>;
  from(move: Name): readonly State[];
  /** The moves that a caller may ask for in a state. */
  actions(state: State): Name[];
  /** True for a state that the service never leaves by itself. Only the moves named as `revivals` lead out of it. */
  isFinal(state: State): boolean;
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
  };
}
