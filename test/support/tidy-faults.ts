import {
  isCallExpression,
  isIdentifier,
  isNewExpression,
  isPropertyAssignment,
  isStringLiteral,
  type Node,
} from "typescript/unstable/ast"
import { type Finding, findingAt, isFunction, nodesOf, type Source } from "./tidy-source.ts"

/**
 * Files that can map fault IDs to other values: the HTTP status, the likely cause, and the text on
 * a page of the server. All other texts of faults are in the catalogs of ui/console, by their ID.
 */
const tables: readonly string[] = [
  "src/api/respond.ts",
  "src/domain/refusal/cause.ts",
  "src/login/appearance/fault-text.ts",
  "src/server/setup/routes.ts",
]

const idForm = /^[a-z][a-z\d_]*(\.[a-z\d_]+)+$/

/** IDs passed to functions that create a fault: `new Fault(code, id, …)`, `fieldError(id, …)`. */
export const faultIds = (sources: readonly Source[]): ReadonlySet<string> =>
  new Set(
    sources
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap(nodesOf)
      .flatMap((node) => {
        if (!isCallExpression(node) && !isNewExpression(node)) return []
        if (!isIdentifier(node.expression)) return []
        if (!/^Fault$|Error$/.test(node.expression.getText())) return []
        return (node.arguments ?? []).flatMap((each) => textOf(each) ?? [])
      })
      .filter((text) => idForm.test(text)),
  )

/** Tables keyed by fault IDs in any other file. */
export function faultTables(sources: readonly Source[]): readonly Finding[] {
  const ids = faultIds(sources)
  return sources
    .filter(({ path }) => /^(src|ui)\//.test(path) && !tables.includes(path))
    .flatMap((source) =>
      nodesOf(source).flatMap((node) => {
        if (!isPropertyAssignment(node) || !isData(node.initializer)) return []
        const id = textOf(node.name)
        if (id === undefined || !ids.has(id)) return []
        const message = `a text of the fault ${id}: see "Where an error's text is chosen"`
        return [findingAt(source, node, message)]
      }),
    )
}

/** Some IDs are also names of events, whose tables contain functions. */
const isData = (node: Node | undefined) =>
  node !== undefined && !isFunction(node) && !isIdentifier(node) && !isCallExpression(node)

const textOf = (node: Node) => (isStringLiteral(node) ? node.text : undefined)
