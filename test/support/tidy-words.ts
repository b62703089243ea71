import {
  isIdentifier,
  isNewExpression,
  isPropertyAccessExpression,
  type Node,
} from "typescript/unstable/ast"
import { type Finding, findingAt, nodesOf, type Rule, type Source } from "./tidy-source.ts"

/** What reaches outside the process, with what to use instead: it comes in as an argument. */
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
])

/** The kernel wraps these things; server.ts and main.ts hand them in. */
const ground = ["src/kernel/", "src/server.ts", "src/main.ts"]

/** Clock, ids, randomness, network and environment are arguments, so that a test can own them. */
export const bannedCalls: Rule = (source) => {
  if (!source.path.startsWith("src/")) return []
  if (ground.some((path) => source.path.startsWith(path))) return []
  return nodesOf(source).flatMap((node) => {
    const name = spoken(node)
    const instead = name && banned.get(name)
    return instead ? [findingAt(source, node, `${name} is banned; use ${instead}`)] : []
  })
}

/** How a node that uses a global reads; undefined for everything else. */
function spoken(node: Node): string | undefined {
  if (isPropertyAccessExpression(node)) {
    return node.getText().replace(/^globalThis\.(crypto\.)?/, "$1")
  }
  if (isIdentifier(node)) return isUse(node) ? node.getText() : undefined
  const isNow = isNewExpression(node) && node.getText().replace(/\s/g, "") === "newDate()"
  return isNow ? "new Date()" : undefined
}

/** A name in use, not the name that something is given (`{ fetch: … }`, `server.fetch`). */
function isUse(node: Node): boolean {
  const parent: Node & { readonly name?: Node; readonly propertyName?: Node } = node.parent
  return parent.name !== node && parent.propertyName !== node
}

/** Work that is not finished belongs in the tracker, and a test runs or does not exist. */
export const unfinished: Rule = (source) => [
  ...linesWith(source, /\b(TODO|FIXME|XXX|HACK)\b/, "unfinished work is not committed"),
  ...linesWith(
    source,
    /\b(describe|suite|test|it)(\.\w+)*\.(skip|only|todo|skipIf|fails)\b|\bx(it|describe)\(/,
    "a test runs, or waits for a prerequisite with runIf(needs(…))",
  ),
]

/** Nothing of the machine or the network that it was written on. */
export const machineTraces: Rule = (source) => [
  ...linesWith(
    source,
    /(^|[\s"'`(=:,])\/(work|root|home|Users)\/[\w.]/,
    "a path of one machine; derive it",
  ),
  ...linesWith(source, /\bregistry\.[\w-]+\.(com|org|net|io|dev)\b/, "a registry's host name"),
]

/** The compiler and the walls may not be waved aside by a comment. */
export const waivers: Rule = (source) => [
  ...linesWith(source, /@ts-(ignore|nocheck|expect-error)/, "the compiler is right; mend the type"),
  ...linesWith(
    source,
    /biome-ignore(-all|-start)? lint\/suspicious\/no(Explicit|Focused|Skipped)/,
    "this wall has no gate",
  ),
]

function linesWith({ path, text }: Source, pattern: RegExp, message: string): readonly Finding[] {
  return text
    .split("\n")
    .flatMap((line, at) => (pattern.test(line) ? [{ path, line: at + 1, message }] : []))
}
