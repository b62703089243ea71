import { type Statement, statement } from "../view/statement.ts"

const statements = new Map<string, Statement>()

/** Statements by text; there are few different queries, because values are parameters. */
export function getStatement<Row>(sql: string): Statement<Row> {
  const found = statements.get(sql) ?? statement(sql)
  if (statements.size < maxStatements) statements.set(sql, found)
  // Reason for the cast: the same text has the same row type.
  return found as Statement<Row>
}
const maxStatements = 2000
