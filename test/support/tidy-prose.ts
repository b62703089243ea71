import {
  isCallExpression,
  isIdentifier,
  isNewExpression,
  isPropertyAssignment,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import { blankLiterals, type Finding, nodesOf, type Rule, type Source } from "./tidy-source.ts"
import { oddWordings } from "./tidy-texts.ts"

/** Comments don't have the wordings that are avoided in source code. */
export const commentWordings: Rule = (source) => findWordings(source.path, commentsOf(source))

/** Messages of errors, help of the command line and other texts don't have them either. */
export const messageWordings: Rule = (source) => findWordings(source.path, textsOf(source))

/** The same for the comments of a .proto file. */
export const protoWordings = (path: string, text: string) =>
  findWordings(path, protoCommentsOf(text))

const findWordings = (path: string, text: string): readonly Finding[] =>
  oddWordings(path, text, "code").map(({ line, found, instead }) => ({
    path,
    line,
    message: `“${found}”; write ${instead}`,
  }))

/**
 * The comments of a file, at their places: code is replaced with middle dots, and the characters
 * that mark comments with spaces, so that sentences continue from line to line.
 */
export const commentsOf = (source: Source): string => keepComments(blankLiterals(source))

const protoCommentsOf = (text: string): string =>
  keepComments(text.replaceAll(/"(?:\\.|[^"\\\n])*"/g, blank))

function keepComments(code: string): string {
  let [text, end] = ["", 0]
  for (const { 0: comment, index } of code.matchAll(/\/\/.*|\/\*[\s\S]*?\*\//g)) {
    text += dotCode(code.slice(end, index)) + comment.replaceAll(commentMarks, blank)
    end = index + comment.length
  }
  return text + dotCode(code.slice(end))
}

const commentMarks = /^\s*(?:\/\/+|\/\*+|\*(?!\/))|\*+\/$/gm

const dotCode = (code: string) => code.replaceAll(/\S/g, "·")

const blank = (text: string) => text.replaceAll(/[^\n]/g, " ")

/**
 * The texts of a file, at their places, in the same form: messages of errors, help and everything
 * else that people read. In tests these are only the messages of errors, because their other texts
 * are names and data. Literals without a space are IDs and codes. Sentences continue from one
 * literal to the next if only a plus sign is between them.
 */
export function textsOf(source: Source): string {
  const isTest = source.path.startsWith("test/")
  const literals = nodesOf(source).flatMap((node) => {
    if (isTest) return isMessage(node) ? literalsIn(node) : []
    return isText(node) ? [node] : []
  })
  const starts = new Map(literals.map((node) => [node.getStart(), node]))
  let [text, end] = ["", 0]
  for (const [start, node] of [...starts].sort(([a], [b]) => a - b)) {
    const between = source.text.slice(end, start)
    text += /^\s*\+\s*$/.test(between) ? blank(between) : dotCode(between)
    text += ` ${source.text.slice(start + 1, node.end - 1)} `
    end = node.end
  }
  return text + dotCode(source.text.slice(end))
}

/** An argument of `new Error(…)` or `fieldError(…)`, or a property such as `message`. */
function isMessage(node: Node): boolean {
  if (isPropertyAssignment(node)) return messageProperties.test(node.name.getText())
  if (!isCallExpression(node) && !isNewExpression(node)) return false
  return isIdentifier(node.expression) && errorFunctions.test(node.expression.getText())
}

const messageProperties = /^(help|message|error|description|hint|title|reason)$/

const errorFunctions = /(Error|Fault|Failure)$/

const literalsIn = (node: Node): readonly Node[] => {
  const found: Node[] = []
  const walk = (each: Node) => {
    if (isText(each)) found.push(each)
    each.forEachChild(walk)
  }
  node.forEachChild(walk)
  return found
}

const isText = (node: Node) => textKinds.has(node.kind) && /\s/.test(node.getText())

const textKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
])
