import {
  isExportDeclaration,
  isNamedExports,
  isVariableStatement,
  SyntaxKind,
} from "typescript/unstable/ast"
import { hasEntryPoint, moduleOf } from "./tidy-imports.ts"
import { findingAt, type Rule, type Source } from "./tidy-source.ts"

/** The maximum number of names that a module's index.ts can export. */
const namesMax = 40

/** Modules that exported more when the limit was introduced. Each number can only be lowered. */
const exceptions: Readonly<Record<string, number>> = {
  "src/domain/app": 74,
  "src/domain/grant": 78,
  "src/domain/idp": 66,
  "src/domain/instance": 51,
  "src/store": 118,
  "ui/login": 116,
}

/**
 * A module's index.ts exports at most 40 names, including types. A finding is an index.ts that
 * exports more, or fewer than its exception allows, or that does not list its exports.
 */
export const exportLimit: Rule = (source) => {
  const module = moduleOf(source.path)
  if (source.path !== `${module}/index.ts` || !hasEntryPoint(module)) return []
  const { names, unnamed } = exportsOf(source)
  if (unnamed) return [findingAt(source, unnamed, "export each name by itself")]
  const exception = exceptions[module]
  const report = (message: string) => [{ path: source.path, line: 1, message }]
  if (names > (exception ?? namesMax)) return report(`${names} names exported`)
  if (exception === undefined || names === exception) return []
  const remedy = names > namesMax ? `lower its exception to ${names}` : "remove its exception"
  return report(`${names} names exported: ${remedy}`)
}

/** The number of names that a file exports; `unnamed` re-exports all of another file. */
function exportsOf({ tree }: Source) {
  let names = 0
  for (const statement of tree.statements) {
    if (isExportDeclaration(statement)) {
      const { exportClause } = statement
      if (!exportClause || !isNamedExports(exportClause)) return { names, unnamed: statement }
      names += exportClause.elements.length
    } else if (isExported(statement)) {
      names += isVariableStatement(statement) ? statement.declarationList.declarations.length : 1
    }
  }
  return { names, unnamed: undefined }
}

type Statement = Source["tree"]["statements"][number]

const isExported = (statement: Statement): boolean =>
  "modifiers" in statement &&
  (statement.modifiers as readonly { readonly kind: SyntaxKind }[] | undefined)?.some(
    ({ kind }) => kind === SyntaxKind.ExportKeyword,
  ) === true
