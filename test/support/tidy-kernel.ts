import { posix } from "node:path"
import {
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import { type Finding, findingAt, isFunction, nodesOf, type Rule } from "./tidy-source.ts"

/**
 * The libraries that `src/kernel` can import: those that compute and access nothing outside the
 * process. `true` allows all of one, a list only these names.
 */
const allowedLibraries: Readonly<Record<string, true | readonly string[]>> = {
  "node:crypto": true,
  "node:net": ["BlockList", "isIP"],
  "node:util": ["promisify"],
  "zod/mini": true,
}

/** Globals of the runtime that read or write outside the process. */
const inputAndOutput = /^(Bun|Worker|WebSocket|console|fetch|process|require)$/

/** Words of protocols and formats, in identifiers and file names. */
const protocolWords: ReadonlySet<string> = new Set([
  "oauth",
  "oidc",
  "saml",
  "scim",
  "pkce",
  "dpop",
  "jwt",
  "jws",
  "jwe",
  "jwk",
  "jose",
  "http",
  "https",
  "grpc",
  "rest",
  "cookie",
  "redirect",
  "browser",
  "html",
  "xml",
  "smtp",
  "mime",
  "mail",
  "email",
  "ldap",
  "dns",
  "protobuf",
])

/** Identifiers that are not protocol code, each with its reason. */
const ownNames: Readonly<Record<string, readonly string[]>> = {
  // The purpose of a data key: the kernel encrypts the content of other modules' cookies.
  "src/kernel/crypto/secret.ts": ["cookie"],
}

/** Settings are named after what they configure; ports after external systems. */
const namesProtocols = (path: string) => /^src\/kernel\/(config\.ts|setting\/|port\/)/.test(path)

/** `src/kernel` does no I/O, and contains no protocol code. */
export const kernel: Rule = (source) => {
  if (!source.path.startsWith("src/kernel/")) return []
  const nodes = nodesOf(source)
  return [
    ...nodes.flatMap((node) => {
      const message = importRefusal(node) ?? globalRefusal(node)
      return message ? [findingAt(source, node, message)] : []
    }),
    ...(namesProtocols(source.path) ? [] : protocolNames(source)),
  ]
}

/** Ports are interfaces to external systems: types, and the lists from which types are derived. */
export const ports: Rule = (source) => {
  if (!source.path.startsWith("src/kernel/port/")) return []
  return nodesOf(source).flatMap((node) =>
    isFunction(node) || isValueImport(node)
      ? [findingAt(source, node, "a port has types only; code belongs to src/protocol or above")]
      : [],
  )
}

const isValueImport = (node: Node) =>
  isImportDeclaration(node) && node.importClause?.phaseModifier !== SyntaxKind.TypeKeyword

function importRefusal(node: Node): string | undefined {
  if (!isImportDeclaration(node) && !isExportDeclaration(node)) return dynamicRefusal(node)
  const { moduleSpecifier } = node
  if (!moduleSpecifier || !isStringLiteral(moduleSpecifier)) return undefined
  const name = moduleSpecifier.text
  const allowed = name.startsWith(".") || allowedLibraries[name]
  if (!allowed) return `src/kernel does no I/O and may not import ${name}`
  if (allowed === true) return undefined
  const others = nodesIn(node).filter(
    (each) => isIdentifier(each) && !allowed.includes(each.getText()),
  )
  return others[0] && `src/kernel does no I/O and may not import ${others[0].getText()} of ${name}`
}

function nodesIn(node: Node): readonly Node[] {
  const nodes: Node[] = []
  const walk = (each: Node) => {
    nodes.push(each)
    each.forEachChild(walk)
  }
  node.forEachChild(walk)
  return nodes
}

/** `import("jose")`: the kernel has no dynamic imports. */
const dynamicRefusal = (node: Node): string | undefined =>
  node.kind === SyntaxKind.ImportKeyword && !isImportDeclaration(node.parent)
    ? "src/kernel loads nothing later; import it where it is used"
    : undefined

/** A use of a global, not a property of that name. */
function globalRefusal(node: Node): string | undefined {
  if (!isIdentifier(node) || !inputAndOutput.test(node.getText())) return undefined
  const parent: Node & { readonly name?: Node } = node.parent
  return parent.name === node ? undefined : `src/kernel does no I/O: ${node.getText()}`
}

function protocolNames(source: Parameters<Rule>[0]): readonly Finding[] {
  const { path } = source
  const file = posix.basename(path, ".ts")
  const allowed = ownNames[path] ?? []
  const inFileName = wordsOf(file).filter((word) => protocolWords.has(word))
  return [
    ...inFileName.map((word) => ({ path, line: 1, message: protocolMessage(word) })),
    ...nodesOf(source).flatMap((node) => {
      if (!isIdentifier(node) || allowed.includes(node.getText())) return []
      const word = wordsOf(node.getText()).find((each) => protocolWords.has(each))
      return word === undefined ? [] : [findingAt(source, node, protocolMessage(word))]
    }),
  ]
}

const protocolMessage = (word: string) =>
  `"${word}" names a protocol: its code belongs to src/protocol`

/** redirectUri → redirect, uri; HTTPServer → http, server. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
