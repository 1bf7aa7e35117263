/** Prepared statements: each text is prepared once per connection. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Every row that is written comes here, so nothing is stored again that is known. */
export function sql(db: DatabaseSync, text: string): StatementSync {
  const statements = prepared.get(db) ?? newStatements(db);
  return statements.get(text) ?? newStatement(db, statements, text);
}

function newStatements(db: DatabaseSync): Map<string, StatementSync> {
  const statements = new Map<string, StatementSync>();
  prepared.set(db, statements);
  return statements;
}

function newStatement(db: DatabaseSync, statements: Map<string, StatementSync>, text: string): StatementSync {
  const statement = db.prepare(text);
  statements.set(text, statement);
  return statement;
}
