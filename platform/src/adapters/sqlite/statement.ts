/** Prepared statements: each text is prepared once per connection. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

export function sql(db: DatabaseSync, text: string): StatementSync {
  const statements = prepared.get(db) ?? new Map<string, StatementSync>();
  prepared.set(db, statements);
  const statement = statements.get(text) ?? db.prepare(text);
  statements.set(text, statement);
  return statement;
}
