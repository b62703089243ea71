import { readFileSync } from "node:fs"
import { join, posix } from "node:path"
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isImportTypeNode,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast"
import { type Finding, findingAt, nodesOf, type Rule, type Source } from "./tidy-source.ts"

/**
 * The modules of the domain, in the order of the module list: each can import those before it,
 * which prevents cycles.
 */
export const modules: readonly string[] = (() => {
  const list = readFileSync(join(import.meta.dirname, "../../src/server/modules.ts"), "utf8")
  const named = list.match(/const modules = \[([^\]]*)\]/)?.[1]?.matchAll(/(\w+)\.module/g) ?? []
  return [...named].map(([, name = ""]) => name.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`))
})()

const domain = (...names: readonly string[]) => names.map((module) => `src/domain/${module}`)

/** Layers above the domain can import all of its modules except setup, which runs once. */
const above = domain(...modules.filter((module) => module !== "setup"))

const sharedImports = ["src/kernel", "src/runtime", "src/protocol", "src/store", "src/xml"]

/**
 * The imports that each module is allowed. The list is the architecture: it has no cycle, and any
 * other import is a finding.
 */
export const allowedImports: Readonly<Record<string, readonly string[]>> = {
  "src/kernel": [],
  "src/gen": [],
  "src/runtime": ["src/kernel"],
  "src/protocol": ["src/kernel"],
  "src/store": ["src/kernel", "src/runtime"],
  "src/xml": ["src/kernel"],
  "src/api": ["src/kernel", "src/protocol", "src/gen"],
  "src/boot": ["src/kernel", "src/runtime", "src/protocol", "src/store", "src/xml"],
  "src/apply": ["src/boot", "src/gen", "src/kernel", "src/runtime", "src/protocol"],
  "src/main.ts": ["src/server", "src/apply", "src/boot", "src/kernel", "src/runtime"],
  "src/domain/family": sharedImports,
  ...Object.fromEntries(
    modules.map((module, at) => [
      `src/domain/${module}`,
      [...sharedImports, "src/domain/family", ...domain(...modules.slice(0, at))],
    ]),
  ),
  "src/domain/message": [
    ...sharedImports,
    "src/domain/family",
    ...domain(...modules.slice(0, modules.indexOf("message"))),
    "ui/mail",
  ],
  "src/http": [...sharedImports, "src/domain/instance"],
  "src/login": [...sharedImports, ...above, "src/http", "ui/login", "ui/kit"],
  "src/oauth": [...sharedImports, ...above, "src/http", "src/login"],
  "src/saml": [...sharedImports, ...above, "src/http", "src/login", "src/oauth"],
  "src/console": [...sharedImports, ...above, "src/gen", "src/http", "ui/console"],
  "src/notify": ["src/kernel", "src/runtime", "src/protocol"],
  "src/server": [
    ...sharedImports,
    ...domain(...modules),
    "src/api",
    "src/apply",
    "src/boot",
    "src/console",
    "src/gen",
    "src/http",
    "src/login",
    "src/notify",
    "src/oauth",
    "src/saml",
    "ui/console",
    "ui/development",
    "ui/login",
  ],
  "ui/kit": [],
  "ui/mail": ["ui/kit"],
  "ui/login": ["ui/kit"],
  "ui/console": ["ui/kit", "src/gen"],
  "ui/development": ["ui/kit", "ui/login"],
  "ui/openapi": ["ui/kit"],
}

/**
 * The allowed files of each library: few for each, so that it can be replaced. Only the store uses
 * the database, except the lock of the data directory in boot.
 */
const allowedLibraries: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/protobuf": [
    "src/api",
    "src/apply",
    "src/domain",
    "src/oauth",
    "src/protocol",
    "src/saml",
    "ui/console",
  ],
  "@connectrpc/connect": ["src/api", "ui/console"],
  "@connectrpc/connect-node": ["src/api"],
  "@connectrpc/connect-query": ["ui/console"],
  "@connectrpc/connect-web": ["ui/console"],
  "@elysiajs/swagger": ["src/api/openapi"],
  "@jitl/quickjs-wasmfile-release-sync": ["src/domain/action"],
  "@logtape/logtape": ["src/api", "src/boot", "src/server"],
  "@node-rs/argon2": ["src/domain/credential"],
  "@oslojs/crypto": ["ui/console"],
  "@simplewebauthn/server": ["src/domain/factor"],
  "@peculiar/x509": ["src/domain/key", "src/server/edge"],
  "@xmldom/xmldom": ["src/xml"],
  "@zxcvbn-ts/language-common": ["src/domain/credential"],
  "@tanstack/react-query": ["ui/console"],
  "@tanstack/react-router": ["ui/console"],
  "@streamparser/json": ["src/boot"],
  "@opentelemetry/api": ["src/server/tracing"],
  "@opentelemetry/core": ["src/server/tracing"],
  "@opentelemetry/otlp-transformer": ["src/server/tracing"],
  "@opentelemetry/resources": ["src/server/tracing"],
  "@opentelemetry/sdk-trace": ["src/server/tracing"],
  "age-encryption": ["src/boot"],
  "bun:ffi": ["src/boot"],
  "bun:sqlite": ["src/boot", "src/store"],
  aws4fetch: ["src/boot", "src/domain/transfer"],
  "csv-parse": ["src/boot"],
  elysia: ["src/api/routes.ts", "src/api/openapi", "src/http"],
  jose: [
    "src/apply",
    "src/domain/idp",
    "src/domain/key",
    "src/oauth",
    "src/protocol",
    "src/server/edge",
    "ui/console",
  ],
  lucia: ["src/domain/session"],
  messageformat: ["ui/kit"],
  ldapts: ["src/notify"],
  "modern-tar": ["src/boot"],
  nodemailer: ["src/notify"],
  oauth4webapi: ["src/domain/idp", "src/server"],
  "openid-client": ["ui/console"],
  otpauth: ["src/domain/factor"],
  "prom-client": ["src/server"],
  "quickjs-emscripten-core": ["src/domain/action"],
  react: ["src/login", "ui"],
  "react-dom": ["ui"],
  "reflect-metadata": ["src/domain/factor", "src/domain/key", "src/server/edge"],
  rolldown: ["ui/build.ts"],
  uqr: ["ui/kit"],
  "xml-crypto": ["src/xml"],
  "xml-encryption": ["src/xml"],
  zod: ["src/apply", "src/boot", "src/kernel", "src/server/edge"],
}

/**
 * Rules that the server applies and the console shows during input or uses for requests, so that
 * both agree: pure files, without imports that a browser lacks.
 */
const sharedRules = [
  "src/kernel/port/mail-cause.ts",
  "src/protocol/redirect-uri.ts",
  "src/kernel/text/bidi.ts",
  "src/kernel/text/language.ts",
  "src/protocol/browser-name.ts",
  "src/protocol/wildcard.ts",
  "src/protocol/transfer/order.ts",
]

/** The login pages' texts, for the module that customizes them: data, no pages. */
const pageTexts = { of: "ui/login/texts/index.ts", for: "src/domain/text" }

/** The process that decodes one image: started by a command of the binary, without a server. */
const pictureProcess = "src/domain/asset/picture/process.ts"

/** Modules with a single entry point, their index.ts. */
export const hasEntryPoint = (module: string) =>
  /^src\/(store$|domain\/|login$|oauth$|saml$|scim$)|^ui\/login$/.test(module)

/**
 * v1.ts, v2-role.ts and similar files bind a module to the API; only they import generated code.
 */
const isBinding = (path: string) =>
  /^src\/(domain\/[^/]+|oauth|saml)\/(binding\/)?v\d(alpha)?(-[a-z]+)*\.ts$/.test(path)

/** The files that bind a module to the API, and the service list, whose methods can be listed. */
const forBindings = ["src/api/method.ts", "src/api/book.ts"]

/** Libraries that must be loaded after a polyfill, and the polyfill. */
const polyfills: Readonly<Record<string, string>> = { "@peculiar/x509": "reflect-metadata" }

/**
 * A static import of such a library comes after that of its polyfill. Without it a test passes only
 * if another file of its thread has loaded the polyfill before.
 */
export const polyfillOrder: Rule = (source) => {
  const all = nodesOf(source).filter(isImportDeclaration)
  const names = all.map(({ moduleSpecifier }) => moduleSpecifier.getText().slice(1, -1))
  return all.flatMap((node, at) => {
    const polyfill = polyfills[names[at] ?? ""]
    const isType = node.importClause?.phaseModifier === SyntaxKind.TypeKeyword
    if (!polyfill || isType || names.slice(0, at).includes(polyfill)) return []
    return [findingAt(source, node, `import ${polyfill} before it`)]
  })
}

/** Tools and tests can import any file. */
const outside = ["scripts/", "test/", "ui/build.ts"]

/** The allowed imports between modules; see src/README.md. */
export const imports: Rule = (source) => {
  const { path } = source
  return importsOf(source).flatMap(({ node, target }) => {
    const wrong = target && findViolation(path, target)
    return wrong ? [findingAt(source, node, `${wrong}: ${target}`)] : []
  })
}

/** Libraries are used only in the listed files; modules of the runtime are allowed everywhere. */
export const libraries: Rule = (source) => {
  if (!/^(src\/(?!gen\/)|ui\/)/.test(source.path)) return []
  return importsOf(source).flatMap(({ node, specifier }) => {
    const [library = ""] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? []
    if (/^(\.|node:|bun$)/.test(specifier) || isUsable(library, source.path)) return []
    return [findingAt(source, node, `${library} may not be used in ${moduleOf(source.path)}`)]
  })
}

const isUsable = (library: string, path: string) =>
  allowedLibraries[library]?.some(
    (location) => [moduleOf(path), path].includes(location) || path.startsWith(`${location}/`),
  ) ?? false

/**
 * A module's operation tables have their own entry point, for the service list and for other
 * tables.
 */
const isEntryFile = (path: string, file: string): boolean =>
  file === "index.ts" || (file === "api.ts" && (isBinding(path) || moduleOf(path) === "src/server"))

/** Generated from the program's own data, in any file. */
const readAll: readonly string[] = ["scripts/openapi.ts", "scripts/reference.ts"]

/** Why `path` can't import `target`; undefined if it can. Both are relative to the root. */
function findViolation(path: string, target: string): string | undefined {
  const [from, to] = [moduleOf(path), moduleOf(target)]
  const ground = findSharedImport(path, target)
  if (ground) return `${ground} has a door, index.ts`
  if (from === to || path.startsWith("test/") || readAll.includes(path)) return undefined
  if (to === "src/main.ts" || (to === "src/server" && from !== "src/main.ts")) {
    return "nobody imports the top of the house"
  }
  const isShared = sharedRules.includes(target)
  if ((from === "ui/console" || from === "ui/kit") && isShared) return undefined
  if (from === pageTexts.for && target === pageTexts.of) return undefined
  if (path === "src/main.ts" && target === pictureProcess) return undefined
  // Routes serve the API as well; the rest of the API does not import them.
  if (path === "src/api/routes.ts" && to === "src/http") return undefined
  if (isBinding(path) && (to === "src/gen" || forBindings.includes(target))) return undefined
  if (!canImport(path, from, to)) return `${from} may not import ${to}`
  if (hasEntryPoint(to) && !isEntryFile(path, posix.basename(target)))
    return `${to} has a door, index.ts`
  return undefined
}

/**
 * The parts shared by all console pages, which page directories import besides the entry point;
 * startup code and the shared directories among each other import what they need.
 */
function findSharedImport(path: string, target: string): string | undefined {
  const [, family = ""] = /^ui\/console\/(\w+)\//.exec(path) ?? []
  const [, ground] = /^(ui\/console\/(?:form|list|shell)|ui\/kit)\/[\w-]+\.tsx?$/.exec(target) ?? []
  if (!ground || family === "" || ["app", "form", "list", "shell"].includes(family))
    return undefined
  return posix.basename(target) === "index.ts" ? undefined : ground
}

function canImport(path: string, from: string, to: string): boolean {
  if (outside.some((open) => path.startsWith(open))) return true
  return allowedImports[from]?.includes(to) ?? false
}

/** src/domain/user/commands.ts → src/domain/user. */
export function moduleOf(path: string): string {
  return /^(src\/domain\/[^/]+|(src|ui)\/[^/]+|[^/]+)/.exec(path)?.[0] ?? path
}

/**
 * Entry points: the process, its workers, and every script; also files that only the compiler
 * reads.
 */
const isEntry = (path: string) =>
  path.endsWith(".d.ts") ||
  ["src/main.ts", "ui/build.ts"].includes(path) ||
  (/^src\/(store|domain\/(asset|action\/script))\//.test(path) && path.endsWith("-worker.ts")) ||
  path.startsWith("scripts/")

/** Files that no entry point reaches. Tests don't count: a file that only tests import is dead. */
export function deadFiles(sources: readonly Source[]): readonly Finding[] {
  const files = sources.filter((source) => !source.path.startsWith("test/"))
  const byPath = new Map(files.map((source) => [source.path, source]))
  const alive = new Set<string>()
  const visit = (path: string) => {
    const source = byPath.get(path)
    if (!source || alive.has(path)) return
    alive.add(path)
    for (const target of listMentions(source)) visit(target)
  }
  for (const { path } of files.filter((source) => isEntry(source.path))) visit(path)
  return files
    .filter((source) => !alive.has(source.path))
    .map(({ path }) => ({ path, line: 1, message: "nothing in service imports this file" }))
}

/** A cycle of the list, as a path of modules; undefined if there is none. */
export function findCycle(
  list: Readonly<Record<string, readonly string[]>>,
): readonly string[] | undefined {
  const ended = new Set<string>()
  const walk = (module: string, above: readonly string[]): readonly string[] | undefined => {
    if (above.includes(module)) return [...above, module]
    if (ended.has(module)) return undefined
    for (const next of list[module] ?? []) {
      const cycle = walk(next, [...above, module])
      if (cycle) return cycle
    }
    ended.add(module)
    return undefined
  }
  for (const module of Object.keys(list)) {
    const cycle = walk(module, [])
    if (cycle) return cycle
  }
  return undefined
}

/** Files that import each other in a cycle. */
export function findImportCycles(sources: readonly Source[]): readonly Finding[] {
  const files = sources.filter(({ path }) => /^(src|ui)\//.test(path))
  const byPath = new Map(files.map((source) => [source.path, targetsOf(source)]))
  return findComponents(byPath).flatMap((circle) => {
    const [path = "", ...others] = circle.toSorted()
    if (circle.length < 2 && !byPath.get(path)?.includes(path)) return []
    return [{ path, line: 1, message: `in a circle with ${others.join(", ")}` }]
  })
}

const targetsOf = (source: Source): readonly string[] =>
  importsOf(source).flatMap(({ target }) => target ?? [])

/** Tarjan's strongly connected components. */
function findComponents(
  graph: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const [found, order, stack]: [string[][], Map<string, number>, string[]] = [[], new Map(), []]
  const visit = (node: string): number => {
    const own = order.size
    let low = own
    order.set(node, own)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      const at = order.get(next)
      if (at === undefined) low = Math.min(low, visit(next))
      else if (stack.includes(next)) low = Math.min(low, at)
    }
    if (low === own) found.push(stack.splice(stack.indexOf(node)))
    return low
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return found
}

type Import = {
  readonly node: Node
  readonly specifier: string
  /** The file, relative to the root; undefined for libraries. */
  readonly target: string | undefined
}

/** Imports of every form: static, re-exported, lazy and type-only. */
export function importsOf(source: Source): readonly Import[] {
  return nodesOf(source).flatMap((node) => {
    const specifier = specifierOf(node)
    return specifier === undefined
      ? []
      : [{ node, specifier, target: resolve(source.path, specifier) }]
  })
}

function specifierOf(node: Node): string | undefined {
  if (isImportDeclaration(node) || isExportDeclaration(node)) {
    return node.moduleSpecifier && textOf(node.moduleSpecifier)
  }
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    return node.arguments[0] && textOf(node.arguments[0])
  }
  return isImportTypeNode(node) ? node.argument.getText().slice(1, -1) : undefined
}

/** The paths that a file names: imports, workers, and the entries of a bundle. */
function listMentions(source: Source): readonly string[] {
  return nodesOf(source).flatMap((node) => {
    const text = textOf(node)
    if (!text || !/\.tsx?$/.test(text)) return []
    return [posix.join(posix.dirname(source.path), text), posix.normalize(text)]
  })
}

const textOf = (node: Node) => (isStringLiteral(node) ? node.text : undefined)

const resolve = (path: string, specifier: string) =>
  specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined
