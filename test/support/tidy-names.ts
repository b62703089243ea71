import {
  isArrowFunction,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isInterfaceDeclaration,
  isParameterDeclaration,
  isTypeAliasDeclaration,
  isTypeParameterDeclaration,
  isVariableDeclaration,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import { type Finding, findingAt, nodesOf, type Rule } from "./tidy-source.ts"

/** Words that name no thing: participles, fillers and questions. */
const fillers: readonly string[] = [
  ..."asked given wanted told said named found known kept shown lent made owed meant".split(" "),
  ..."place way line lot turn standing thing happening saying wish".split(" "),
  ..."here such about how what who whom whose why".split(" "),
]

/** Types whose name ends with one of these words in its usual meaning. */
const typeExceptions: ReadonlyMap<string, string> = new Map([
  ["LogLine", "a line of text that a script logs"],
  ["TransferLine", "a line of text of a transfer file"],
])

/** A type's name is a noun: its last word is not a participle or a filler. */
export const typeNames: Rule = (source) =>
  nodesOf(source).flatMap((node) => {
    if (!declaresType(node)) return []
    const name = node.name.getText()
    const last = lastWord(name)
    if (!fillers.includes(last) || typeExceptions.has(name)) return []
    return [findingAt(source, node.name, `type ${name}: "${last}" names nothing; use a noun`)]
  })

const declaresType = (node: Node) =>
  isTypeAliasDeclaration(node) || isInterfaceDeclaration(node) || isTypeParameterDeclaration(node)

/** A line of text is the usual meaning of this word; the other fillers have none. */
const parameterFillers = fillers.filter((word) => word !== "line")

/** A parameter is a noun as well, as the reader of a call sees it. */
export const parameterNames: Rule = (source) =>
  nodesOf(source).flatMap((node) => {
    if (!isParameterDeclaration(node) || !isIdentifier(node.name)) return []
    const name = node.name.getText()
    if (!parameterFillers.includes(name.replace(/^_/, ""))) return []
    const message = `parameter ${name}: name what it contains, such as user, request or input`
    return [findingAt(source, node.name, message)]
  })

/** What each shape of a function's name lacks. */
const functionShapes: readonly (readonly [shape: RegExp, instead: string])[] = [
  [/^(how|what|why|who|whom|whose)([A-Z]|$)/, "start with a verb"],
  [/^wish([A-Z]|$)/, "start with create, parse or request"],
  [/^let[A-Z]/, "start with allow, admit or a verb of the domain"],
  [/^must[A-Z]/, "start with require"],
  [
    /[a-z](Way|Place|Standing|Why|Gone|Left|Here|About|Such|Thing|Lot|How|What|Who)$/,
    "end with a noun",
  ],
  [/[a-z](Asked|Given|Wanted|Told|Said|Kept|Made|Lent|Owed|Meant)$/, "end with a noun"],
  [/^(?!add|count|has|sort|split)[a-z]+([A-Z][a-z]+)*Words$/, "end with Text or Name"],
]

/** Irregular participles; the regular ones end with -ed. */
const participles: ReadonlySet<string> = new Set(
  "begun done found given gone held kept known left lent made said sent shown told written".split(
    " ",
  ),
)

/** Verbs and nouns that end with -ed. */
const notParticiples: ReadonlySet<string> = new Set(
  "embed exceed feed need proceed seed shed speed succeed".split(" "),
)

/** The function of a module starts with a verb, or is a noun; a participle is neither. */
export const functionNames: Rule = (source) =>
  source.tree.statements.flatMap((statement) => {
    const found: Finding[] = []
    for (const name of functionNamesIn(statement)) {
      const text = name.getText()
      const instead = isParticiple(text)
        ? "start with a verb"
        : functionShapes.find(([shape]) => shape.test(text))?.[1]
      if (instead) found.push(findingAt(source, name, `function ${text}: ${instead}`))
    }
    return found
  })

function functionNamesIn(statement: Node): readonly Node[] {
  if (isFunctionDeclaration(statement)) return statement.name ? [statement.name] : []
  if (statement.kind !== SyntaxKind.VariableStatement) return []
  const names: Node[] = []
  statement.forEachChild((list) => {
    list.forEachChild((each) => {
      if (isVariableDeclaration(each) && isFunctionValue(each.initializer)) names.push(each.name)
      return undefined
    })
    return undefined
  })
  return names
}

const isFunctionValue = (node: Node | undefined) =>
  node !== undefined && (isArrowFunction(node) || isFunctionExpression(node))

const isParticiple = (name: string) =>
  participles.has(name) || (/^[a-z]+ed$/.test(name) && !notParticiples.has(name))

const lastWord = (name: string) => /[A-Z]?[a-z]+$/.exec(name)?.[0].toLowerCase() ?? ""
