import {
  isCallExpression,
  isIdentifier,
  isImportDeclaration,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import { testLimitMs } from "../../vitest.config.ts"
import {
  blankLiterals,
  type Finding,
  findingAt,
  nodesOf,
  type Rule,
  type Source,
} from "./tidy-source.ts"

/** Access to the world outside the process, with its replacement: it must be an argument. */
const banned: ReadonlyMap<string, string> = new Map([
  ["Date.now", "cx.clock.now()"],
  ["new Date()", "new Date(cx.clock.now())"],
  ["Math.random", "cx.random"],
  ["crypto.randomUUID", "cx.ids.next()"],
  ["crypto.getRandomValues", "cx.random"],
  ["randomUUID", "cx.ids.next()"],
  ["randomBytes", "cx.random"],
  ["fetch", "a client that is passed in"],
  ["setTimeout", "cx.clock.after"],
  ["setInterval", "cx.clock.after"],
  ["Bun.sleep", "cx.clock.after"],
  ["process.env", "the configuration"],
  ["Bun.env", "the configuration"],
  ["import.meta.env", "the configuration"],
  // Request bodies are read within limits.
  ["request.text", "formWithin or bytesWithin"],
  ["request.json", "formWithin or bytesWithin"],
  ["request.formData", "formWithin or bytesWithin"],
  ["request.arrayBuffer", "formWithin or bytesWithin"],
])

/** Where each of these is wrapped, to be passed on; main.ts passes them. */
const wrappers: Readonly<Record<string, readonly string[]>> = {
  "src/kernel/clock.ts": ["Date.now", "setTimeout"],
  "src/kernel/crypto/random.ts": ["randomBytes"],
  "src/protocol/body.ts": ["request.text"],
  "src/runtime/network.ts": ["fetch"],
  "src/runtime/production.ts": ["process.env"],
}

/**
 * Clock, IDs, randomness, network and environment are arguments, so that tests can control them.
 */
export const bannedCalls: Rule = (source) => {
  if (!source.path.startsWith("src/")) return []
  if (source.path === "src/main.ts") return []
  return nodesOf(source).flatMap((node) => {
    const name = globalText(node)
    const instead = name && banned.get(name)
    return instead && !wrappers[source.path]?.includes(name)
      ? [findingAt(source, node, `${name} is banned; use ${instead}`)]
      : []
  })
}

/** The text of a node that uses a global; undefined for other nodes. */
function globalText(node: Node): string | undefined {
  if (isPropertyAccessExpression(node)) {
    return node.getText().replace(/^globalThis\.(crypto\.)?/, "$1")
  }
  if (isIdentifier(node)) return isUse(node) ? node.getText() : undefined
  const isNow = isNewExpression(node) && node.getText().replace(/\s/g, "") === "newDate()"
  return isNow ? "new Date()" : undefined
}

/** A use of a name, not the name of a property (`{ fetch: … }`, `server.fetch`). */
function isUse(node: Node): boolean {
  const parent: Node & { readonly name?: Node; readonly propertyName?: Node } = node.parent
  return parent.name !== node && parent.propertyName !== node
}

/** The only test file that can use timers without a reason. */
const waitFile = "test/support/wait.ts"

const timers: ReadonlySet<string> = new Set(["setTimeout", "setInterval", "Bun.sleep"])

/** They give up after one second, which is too short on a busy machine. */
const vitestWaits: ReadonlySet<string> = new Set(["vi.waitFor", "vi.waitUntil"])

/**
 * A test waits for a condition, never for a duration. If only a timer is possible, a comment `//
 * timer: <reason>` on the line above, or the second argument of `pause`, states the reason.
 */
export const durations: Rule = (source) => {
  if (!source.path.startsWith("test/") || source.path === waitFile) return []
  const lines = source.text.split("\n")
  return nodesOf(source).flatMap((node) => {
    const complaint = findTimerError(node)
    if (!complaint) return []
    const finding = findingAt(source, node, complaint)
    const isExplained = /^\s*\/\/ timer: \S+ \S+ \S/.test(lines[finding.line - 2] ?? "")
    return isExplained ? [] : [finding]
  })
}

function findTimerError(node: Node): string | undefined {
  const name = globalText(node)?.replace(/^(globalThis|window|self)\./, "")
  if (name && timers.has(name)) return `${name} is banned; use until or pause of ${waitFile}`
  if (name && vitestWaits.has(name)) return `${name} is banned; use until of ${waitFile}`
  if (isStringLiteral(node) && /^(node:)?timers(\/promises)?$/.test(node.text)) {
    const isLoaded = isImportDeclaration(node.parent) || isCallExpression(node.parent)
    return isLoaded ? `${node.text} is banned; use until or pause of ${waitFile}` : undefined
  }
  const isPause = isCallExpression(node) && node.expression.getText() === "pause"
  return isPause && !hasWords(node.arguments[1])
    ? "a pause needs its reason, a sentence"
    : undefined
}

/** Whether an argument exists and, if it is a literal, has at least three words. */
function hasWords(argument: Node | undefined): boolean {
  if (!argument) return false
  if (!isStringLiteral(argument) && !isNoSubstitutionTemplateLiteral(argument)) return true
  return /\S+\s+\S+\s+\S/.test(argument.text)
}

/**
 * A limit ends a hanging test. A limit no longer than the default would end it before its waits,
 * and hide which of them failed.
 */
export const limits: Rule = (source) => {
  if (!source.path.startsWith("test/")) return []
  return nodesOf(source).flatMap((node) => {
    if (!isCallExpression(node) || !limited.test(node.expression.getText())) return []
    const limit = node.arguments.flatMap(limitsIn).find((each) => msOf(each) <= testLimitMs)
    const message = `a limit is longer than ${testLimitMs} ms, which every test has, or left out`
    return limit ? [findingAt(source, limit, message)] : []
  })
}

const limited = /^(test|it|describe|(before|after)(All|Each))\b/

/** The numbers in the limit argument of a test or a hook. */
function limitsIn(argument: Node): readonly Node[] {
  if (isNumericLiteral(argument)) return [argument]
  if (!isObjectLiteralExpression(argument)) return []
  return argument.properties.flatMap((each) =>
    isPropertyAssignment(each) && each.name.getText() === "timeout" ? [each.initializer] : [],
  )
}

const msOf = (node: Node): number => Number(node.getText().replaceAll("_", ""))

/** Unfinished work belongs in the issue tracker, and skipped tests are not allowed. */
export const unfinishedWork: Rule = (source) => {
  const lines = codeLines(source)
  return [
    ...matches(source, lines, /\b(TODO|FIXME|XXX|HACK)\b/, "unfinished work is not committed"),
    ...matches(
      source,
      lines,
      /\b(describe|suite|test|it)(\.\w+)*\.(skip|only|todo|skipIf|fails)\b|\bx(it|describe)\(/,
      "a test runs, or waits for a prerequisite with runIf(needs(…))",
    ),
  ]
}

/**
 * Comments must not disable the compiler or the rules. Only a test can expect an error, to prove
 * that something does not compile.
 */
export const waivers: Rule = (source) => {
  const lines = codeLines(source)
  const errors = source.path.startsWith("test/")
    ? /@ts-(ignore|nocheck)/
    : /@ts-(ignore|nocheck|expect-error)/
  const walls = /biome-ignore(-all|-start)? lint\/suspicious\/no(Explicit|Focused|Skipped)/
  return [
    ...matches(source, lines, errors, "mend the type instead"),
    ...matches(source, lines, walls, "this wall has no gate"),
  ]
}

/** The two form components of the console: to change data, and to search. */
const formFiles = ["ui/console/form/form.tsx", "ui/console/form/search-form.tsx"]

/** The console has one way to create a form, so that all forms behave the same. */
export const forms: Rule = (source) => {
  if (!source.path.startsWith("ui/console/") || formFiles.includes(source.path)) return []
  return matches(source, codeLines(source), /<form\b/, "use Fields, DialogForm or SearchForm")
}

/** Errors are identified by ID and details; the message is for people. */
export const errorPatterns: Rule = (source) => {
  if (!source.path.startsWith("ui/console/")) return []
  const matchesAt = "includes|match|matchAll|startsWith|endsWith|indexOf|search|split|replace"
  const words = "(message|rawMessage|error_description|errorDescription)"
  const patterns = [
    String.raw`\b${words}\??\.(${matchesAt})\(`,
    String.raw`\.(test|exec)\([^)]*\b${words}\b`,
    String.raw`\b${words} [!=]==`,
  ]
  const pattern = new RegExp(patterns.join("|"))
  return matches(source, codeLines(source), pattern, "ask for the id or the details of the error")
}

/** A pattern has no fields, so as part of a toMatchObject it matches any value. */
export const fittingPatterns: Rule = (source) =>
  nodesOf(source)
    .filter(({ kind, parent }) => kind === SyntaxKind.RegularExpressionLiteral && isPart(parent))
    .filter(({ parent }) => isMatched(parent))
    .map((node) => findingAt(source, node, "it fits anything; use expect.stringMatching"))

const isPart = ({ kind }: Node): boolean =>
  kind === SyntaxKind.PropertyAssignment || kind === SyntaxKind.ArrayLiteralExpression

/** Whether the nearest call around it is toMatchObject. */
function isMatched(node: Node): boolean {
  if (isCallExpression(node)) return /\.toMatchObject$/.test(node.expression.getText())
  return node.parent !== undefined && isMatched(node.parent)
}

/** Nothing from the developer's machine or network, in strings either. */
export const machineTraces: Rule = (source) => {
  const lines = source.text.split("\n")
  const paths = /(^|[\s"'`(=:,])\/(work|root|home|Users)\/[\w.]/
  const hosts = /\bregistry\.[\w-]+\.(com|org|net|io|dev)\b/
  return [
    ...matches(source, lines, paths, "a path of one machine; derive it"),
    ...matches(source, lines, hosts, "a registry's host name"),
  ]
}

function matches(
  { path }: Source,
  lines: readonly string[],
  pattern: RegExp,
  message: string,
): readonly Finding[] {
  return lines.flatMap((line, at) => (pattern.test(line) ? [{ path, line: at + 1, message }] : []))
}

/** The lines of files that a rule has already processed. */
const linesBySource = new WeakMap<Source, readonly string[]>()

/** Code and comments with blanked literals, so that code can mention forbidden texts. */
function codeLines(source: Source): readonly string[] {
  const lines = linesBySource.get(source) ?? blankLiterals(source).split("\n")
  linesBySource.set(source, lines)
  return lines
}
