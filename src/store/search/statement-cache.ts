import { type Statement, statement } from "../view/statement.ts"

const statements = new Map<string, Statement>()

/** Statements by their text; shapes of queries are few, values are parameters. */
export function cachedStatement<Row>(sql: string): Statement<Row> {
  const found = statements.get(sql) ?? statement(sql)
  if (statements.size < statementsMax) statements.set(sql, found)
  // Reason for the cast: the text is the same, so is the shape of its rows.
  return found as Statement<Row>
}
const statementsMax = 2000
