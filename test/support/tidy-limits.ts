import {
  isArrayLiteralExpression,
  isAsExpression,
  isClassDeclaration,
  isClassExpression,
  isIfStatement,
  isNonNullExpression,
  isObjectLiteralExpression,
  isTypeAssertion,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import {
  type Finding,
  findingAt,
  isFunction,
  lineOf,
  nodesOf,
  type Rule,
  type Source,
} from "./tidy-source.ts"

/** The size limits. Test functions are exempt: a `describe` contains a whole table. */
export const sizeLimits = {
  line: 100,
  file: 500,
  storeFile: 450,
  testFile: 600,
  function: 100,
  nesting: 3,
} as const

/** Paths of imports and titles of tests can't be split, so lines with them may be longer. */
export const lineLength: Rule = ({ path, text }) =>
  text.split("\n").flatMap((line, at) => {
    const columns = [...line].length
    const isLong = columns > sizeLimits.line && !/ from "[^"]+"$/.test(line) && !isTitle(path, line)
    return isLong ? [{ path, line: at + 1, message: `${columns} columns` }] : []
  })

const isTitle = (path: string, line: string): boolean =>
  path.startsWith("test/") && /^\s*(describe|test)(\.\w+)*\(/.test(line)

export const fileLength: Rule = (source) =>
  longerThan(source.path.startsWith("test/") ? sizeLimits.testFile : sizeLimits.file, source)

/** The store is the basis of everything and read most: its files are shorter. */
export const storeFileLength: Rule = (source) =>
  source.path.startsWith("src/store/") ? longerThan(sizeLimits.storeFile, source) : []

function longerThan(most: number, { path, text }: Source): readonly Finding[] {
  const lines = text.trimEnd().split("\n").length
  return lines > most ? [{ path, line: most + 1, message: `${lines} lines` }] : []
}

export const functionLength: Rule = (source) => {
  if (source.path.startsWith("test/")) return []
  return nodesOf(source)
    .filter(isFunction)
    .flatMap((node) => {
      const lines = lineOf(source, node.end) - lineOf(source, node.getStart()) + 1
      return lines > sizeLimits.function
        ? [findingAt(source, node, `function of ${lines} lines`)]
        : []
    })
}

/** A spread of a literal (`...{ a, b }`, `...[a, b]`) only packs several entries on a line. */
export const packing: Rule = (source) =>
  nodesOf(source)
    .filter((node) => spreads.has(node.kind) && isPacked(node))
    .map((node) => findingAt(source, node, "a spread of a literal; write its entries directly"))

const spreads: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.SpreadAssignment,
  SyntaxKind.SpreadElement,
  SyntaxKind.JsxSpreadAttribute,
])

const isPacked = (node: Node) =>
  childrenOf(node).some(
    (child) => isObjectLiteralExpression(child) || isArrayLiteralExpression(child),
  )

/** Nested blocks of one function; an inner function starts at zero, `else if` adds nothing. */
export const nesting: Rule = (source) => {
  const found: Finding[] = []
  const walk = (node: Node, depth: number) => {
    const inner = isFunction(node) ? 0 : depth + (nests(node) ? 1 : 0)
    if (inner > sizeLimits.nesting) found.push(findingAt(source, node, `nested ${inner} deep`))
    else node.forEachChild((child) => walk(child, inner))
  }
  source.tree.forEachChild((node) => walk(node, 0))
  return found
}

const nests = (node: Node) =>
  nestingKinds.has(node.kind) &&
  !(node.parent && isIfStatement(node.parent) && node.parent.elseStatement === node)

const nestingKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.IfStatement,
  SyntaxKind.SwitchStatement,
  SyntaxKind.TryStatement,
  SyntaxKind.ForStatement,
  SyntaxKind.ForInStatement,
  SyntaxKind.ForOfStatement,
  SyntaxKind.WhileStatement,
  SyntaxKind.DoStatement,
])

/**
 * Where types can be overridden, each time with a comment that states the reason. Tests are exempt.
 */
const overridingFiles = ["src/api/method.ts", "src/api/encoding/rest.ts", "src/store/", "test/"]

/** `any`, `as` (except `as const`) and `!` disable type checks. */
export const overriddenTypes: Rule = (source) => {
  if (source.path.startsWith("test/")) return []
  const isAllowed = overridingFiles.some((path) => source.path.startsWith(path))
  return nodesOf(source).flatMap((node) => {
    const form = findOverride(node)
    if (!form || (isAllowed && hasReason(source.text, lineOf(source, node.end)))) return []
    const where = isAllowed ? "needs a comment with its reason" : "is not allowed here"
    return [findingAt(source, node, `${form} ${where}; narrow with a type guard or a schema`)]
  })
}

function findOverride(node: Node): string | undefined {
  if (node.kind === SyntaxKind.AnyKeyword) return "any"
  if (isNonNullExpression(node)) return "!"
  if (isTypeAssertion(node)) return "<type>"
  return isAsExpression(node) && node.type.getText() !== "const" ? "as" : undefined
}

/** A comment on the line, or above the lines of its statement. */
function hasReason(text: string, line: number): boolean {
  const lines = text.split("\n")
  const near = lines.slice(Math.max(0, line - 4), line)
  return near.some((each) => /\/\/|\*\//.test(each))
}

/** The last two are algorithms that `xml-crypto` creates with `new`. */
const classes = ["Fault", "OAuthError", "Store", "Canonicalization", "RemoteSigner"]

export const namedClasses: Rule = (source) =>
  nodesOf(source)
    .filter((node) => isClassDeclaration(node) || isClassExpression(node))
    .filter((node) => !classes.includes(node.name?.getText() ?? ""))
    .map((node) => findingAt(source, node, `no class but ${classes.join(", ")}; write functions`))

const vagueNames = /(^|[/.-])(utils?|helpers?|common|manager|impl|misc)([/.-]|$)/

/** File paths use words of the domain. */
export const fileName: Rule = ({ path }) => {
  const vague = vagueNames.exec(path)?.[2]
  return vague ? [{ path, line: 1, message: `"${vague}" names nothing; name what it holds` }] : []
}

function childrenOf(node: Node): readonly Node[] {
  const found: Node[] = []
  node.forEachChild((child) => void found.push(child))
  return found
}
