import {
  isArrayLiteralExpression,
  isCallExpression,
  isNoSubstitutionTemplateLiteral,
  isPropertyAssignment,
  isStringLiteral,
  type Node,
} from "typescript/unstable/ast"
import { nodesOf, type Source } from "../support/tidy-source.ts"

/** A requirement of a specification, with its tests or the reason for having none. */
export type Requirement = Readonly<
  Record<"document" | "section" | "demand" | "test" | "reason", string>
>

export const columns = ["document", "section", "demand", "test", "reason"] as const

/** The separators between tests, and between a file and a title. */
const [between, within] = [" | ", " › "]

/** The files that rows name, relative to `test/`. */
export const filesOf = (rows: readonly Requirement[]): readonly string[] => [
  ...new Set(rows.flatMap(({ test }) => testsOf(test).map(([file]) => file))),
]

const testsOf = (cell: string): readonly (readonly [file: string, title: string])[] =>
  cell === ""
    ? []
    : cell.split(between).map((each) => {
        const [file = "", ...title] = each.split(within)
        return [file, title.join(within)]
      })

/** The errors of a table as texts; `titles` returns the test titles of a file. */
export function findErrors(
  rows: readonly Requirement[],
  titles: (file: string) => ReadonlySet<string> | undefined,
): readonly string[] {
  const names = rows.map(({ document, section, demand }) => `${document} ${section}: ${demand}`)
  return rows.flatMap((row, at) => {
    const name = names[at] ?? ""
    const wrong = [...findCellErrors(row), ...findMissingTests(row, titles)]
    if (names.indexOf(name) !== at) wrong.push("stands there twice")
    return wrong.map((flaw) => `${name}: ${flaw}`)
  })
}

function findCellErrors({ document, section, demand, test, reason }: Requirement): string[] {
  const flaws: string[] = []
  if (document === "" || section === "" || demand === "") flaws.push("a cell is empty")
  if (test === "" && reason === "") flaws.push("has neither a test nor a reason")
  if (test !== "" && reason !== "") flaws.push("has a test and a reason against one")
  if (reason !== "" && reason.split(" ").length < minReasonWords) {
    flaws.push(`a reason has ${minReasonWords} words at least`)
  }
  return flaws
}

const minReasonWords = 4

const findMissingTests = (
  { test }: Requirement,
  titles: (file: string) => ReadonlySet<string> | undefined,
): string[] =>
  testsOf(test).flatMap(([file, title]) => {
    const known = titles(file)
    if (!known) return [`there is no ${file}`]
    return known.has(title) ? [] : [`${file} has no test "${title}"`]
  })

/**
 * The test titles of a file: the first argument of each `test` call, and the first element of each
 * table row (the first element of an array, the key, or the `name` or `module` of an object).
 */
export function titlesOf(source: Source): ReadonlySet<string> {
  return new Set(nodesOf(source).flatMap((node) => textsIn(titlesAt(node))))
}

function titlesAt(node: Node): readonly (Node | undefined)[] {
  if (isCallExpression(node) && isTestCall(node.expression.getText())) return [node.arguments[0]]
  if (isArrayLiteralExpression(node)) return [node.elements[0]]
  if (!isPropertyAssignment(node)) return []
  const key = node.name.getText()
  return key === "name" || key === "module" ? [node.initializer] : [node.name]
}

const isTestCall = (callee: string) => /^(test|it)(\.\w+(\(.*\))?)?$/s.test(callee)

const textsIn = (nodes: readonly (Node | undefined)[]): readonly string[] =>
  nodes.flatMap((node) =>
    node && (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) ? [node.text] : [],
  )
