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
 * Where the ID of a fault may stand for something else: which HTTP status it has, what its likely
 * cause is, and which text a page of the server shows. Every other text of a fault is in the
 * catalogs of ui/console, by its ID.
 */
const tables: readonly string[] = [
  "src/api/respond.ts",
  "src/domain/refusal/cause.ts",
  "src/login/look/fault-text.ts",
  "src/server/setup/routes.ts",
]

const idForm = /^[a-z][a-z\d_]*(\.[a-z\d_]+)+$/

/** IDs that are passed to what makes a fault: `new Fault(code, id, …)`, `fieldError(id, …)`. */
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

/** Tables by the IDs of faults that are anywhere else. */
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

/** Some IDs are names of events, too, whose tables hold functions. */
const isData = (node: Node | undefined) =>
  node !== undefined && !isFunction(node) && !isIdentifier(node) && !isCallExpression(node)

const textOf = (node: Node) => (isStringLiteral(node) ? node.text : undefined)
