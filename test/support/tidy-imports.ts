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
 * The modules of the domain, in the order of the one list of modules: each may import those before
 * it, so that they can't go round in a circle.
 */
export const modules: readonly string[] = (() => {
  const list = readFileSync(join(import.meta.dirname, "../../src/server/modules.ts"), "utf8")
  const named = list.match(/const modules = \[([^\]]*)\]/)?.[1]?.matchAll(/(\w+)\.module/g) ?? []
  return [...named].map(([, name = ""]) => name.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`))
})()

const domain = (...names: readonly string[]) => names.map((module) => `src/domain/${module}`)

/** What stands above the domain may look into all of its modules but set-up, which runs once. */
const above = domain(...modules.filter((module) => module !== "setup"))

const ground = ["src/kernel", "src/runtime", "src/protocol", "src/store", "src/xml"]

/**
 * Which module may import which others. The list is the architecture: it has no cycle, and an
 * import that is not in it is a finding.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
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
  "src/domain/family": ground,
  ...Object.fromEntries(
    modules.map((module, at) => [
      `src/domain/${module}`,
      [...ground, "src/domain/family", ...domain(...modules.slice(0, at))],
    ]),
  ),
  "src/domain/message": [
    ...ground,
    "src/domain/family",
    ...domain(...modules.slice(0, modules.indexOf("message"))),
    "ui/mail",
  ],
  "src/http": [...ground, "src/domain/instance"],
  "src/login": [...ground, ...above, "src/http", "ui/login", "ui/kit"],
  "src/oauth": [...ground, ...above, "src/http", "src/login"],
  "src/saml": [...ground, ...above, "src/http", "src/login", "src/oauth"],
  "src/console": [...ground, ...above, "src/gen", "src/http", "ui/console"],
  "src/notify": ["src/kernel", "src/runtime", "src/protocol"],
  "src/server": [
    ...ground,
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
 * Where each library may be used: few places for each, so that it can be replaced. The database is
 * the store's; the lock of the data folder, in boot, is one of its own.
 */
const mayUse: Readonly<Record<string, readonly string[]>> = {
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
 * What the server decides by and the console shows while one types, or sends things by, so that
 * there are not two opinions: pure files, which import nothing that a browser lacks.
 */
const sharedRules = [
  "src/kernel/port/mail-cause.ts",
  "src/protocol/redirect-uri.ts",
  "src/kernel/text/bidi.ts",
  "src/protocol/browser-name.ts",
  "src/protocol/wildcard.ts",
  "src/protocol/transfer/order.ts",
]

/** What the login pages say, for the module that lets others say it otherwise: data, no pages. */
const pageTexts = { of: "ui/login/texts/index.ts", for: "src/domain/text" }

/** The process that reads one picture: started by a word of the command line, without a server. */
const pictureProcess = "src/domain/asset/picture/process.ts"

/** Modules that are entered through one door, their index.ts. */
export const hasDoor = (module: string) =>
  /^src\/(store$|domain\/|login$|oauth$|saml$|scim$)|^ui\/login$/.test(module)

/**
 * v1.ts, v2-role.ts and their like bind a module to the book; they alone look at generated code.
 */
const isBinding = (path: string) =>
  /^src\/(domain\/[^/]+|oauth|saml)\/(binding\/)?v\d(alpha)?(-[a-z]+)*\.ts$/.test(path)

/** What binds a module to the book, and the book itself, whose methods may be listed. */
const forBindings = ["src/api/method.ts", "src/api/book.ts"]

/** Libraries that need a polyfill before they are loaded, and which one. */
const polyfills: Readonly<Record<string, string>> = { "@peculiar/x509": "reflect-metadata" }

/**
 * A static import of such a library comes after that of its polyfill. Without it a test passes only
 * where another file of its thread has loaded the polyfill before.
 */
export const polyfilled: Rule = (source) => {
  const all = nodesOf(source).filter(isImportDeclaration)
  const names = all.map(({ moduleSpecifier }) => moduleSpecifier.getText().slice(1, -1))
  return all.flatMap((node, at) => {
    const polyfill = polyfills[names[at] ?? ""]
    const isType = node.importClause?.phaseModifier === SyntaxKind.TypeKeyword
    if (!polyfill || isType || names.slice(0, at).includes(polyfill)) return []
    return [findingAt(source, node, `import ${polyfill} before it`)]
  })
}

/** Tools and tests may look anywhere. */
const outside = ["scripts/", "test/", "ui/build.ts"]

/** Who may import whom; see src/README.md. */
export const imports: Rule = (source) => {
  const { path } = source
  return importsOf(source).flatMap(({ node, target }) => {
    const wrong = target && refusal(path, target)
    return wrong ? [findingAt(source, node, `${wrong}: ${target}`)] : []
  })
}

/** Libraries stay where they are listed; what the runtime brings is open to all. */
export const libraries: Rule = (source) => {
  if (!/^(src\/(?!gen\/)|ui\/)/.test(source.path)) return []
  return importsOf(source).flatMap(({ node, specifier }) => {
    const [library = ""] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? []
    if (/^(\.|node:|bun$)/.test(specifier) || isUsable(library, source.path)) return []
    return [findingAt(source, node, `${library} may not be used in ${roomOf(source.path)}`)]
  })
}

const isUsable = (library: string, path: string) =>
  mayUse[library]?.some(
    (place) => [roomOf(path), path].includes(place) || path.startsWith(`${place}/`),
  ) ?? false

/** A module's tables of operations have a door of their own, for the book and for other tables. */
const isDoor = (path: string, file: string): boolean =>
  file === "index.ts" || (file === "api.ts" && (isBinding(path) || roomOf(path) === "src/server"))

/** Made from what the program itself goes by, wherever that stands. */
const readAll: readonly string[] = ["scripts/openapi.ts", "scripts/reference.ts"]

/** Why `path` may not import `target`; undefined when it may. Both are relative to the root. */
function refusal(path: string, target: string): string | undefined {
  const [from, to] = [roomOf(path), roomOf(target)]
  const ground = groundOf(path, target)
  if (ground) return `${ground} has a door, index.ts`
  if (from === to || path.startsWith("test/") || readAll.includes(path)) return undefined
  if (to === "src/main.ts" || (to === "src/server" && from !== "src/main.ts")) {
    return "nobody imports the top of the house"
  }
  const isShared = sharedRules.includes(target)
  if ((from === "ui/console" || from === "ui/kit") && isShared) return undefined
  if (from === pageTexts.for && target === pageTexts.of) return undefined
  if (path === "src/main.ts" && target === pictureProcess) return undefined
  // The interface is served by routes, too; nothing else of it knows of them.
  if (path === "src/api/routes.ts" && to === "src/http") return undefined
  if (isBinding(path) && (to === "src/gen" || forBindings.includes(target))) return undefined
  if (!mayEnter(path, from, to)) return `${from} may not import ${to}`
  if (hasDoor(to) && !isDoor(path, posix.basename(target))) return `${to} has a door, index.ts`
  return undefined
}

/**
 * What all pages of the console are made of, where a family of them enters it beside its door; what
 * starts them all, and the folders of the ground among one another, look where they must.
 */
function groundOf(path: string, target: string): string | undefined {
  const [, family = ""] = /^ui\/console\/(\w+)\//.exec(path) ?? []
  const [, ground] = /^(ui\/console\/(?:form|list|shell)|ui\/kit)\/[\w-]+\.tsx?$/.exec(target) ?? []
  if (!ground || family === "" || ["app", "form", "list", "shell"].includes(family))
    return undefined
  return posix.basename(target) === "index.ts" ? undefined : ground
}

function mayEnter(path: string, from: string, to: string): boolean {
  if (outside.some((open) => path.startsWith(open))) return true
  return mayImport[from]?.includes(to) ?? false
}

/** src/domain/user/commands.ts → src/domain/user. */
export function roomOf(path: string): string {
  return /^(src\/domain\/[^/]+|(src|ui)\/[^/]+|[^/]+)/.exec(path)?.[0] ?? path
}

/**
 * What starts by itself: the process, its workers, and every script that is run by hand; what the
 * compiler alone reads.
 */
const isEntry = (path: string) =>
  path.endsWith(".d.ts") ||
  ["src/main.ts", "ui/build.ts"].includes(path) ||
  (/^src\/(store|domain\/(asset|action\/script))\//.test(path) && path.endsWith("-worker.ts")) ||
  path.startsWith("scripts/")

/** Files that nothing in service reaches. A test is not a use: what only tests import is dead. */
export function deadFiles(sources: readonly Source[]): readonly Finding[] {
  const files = sources.filter((source) => !source.path.startsWith("test/"))
  const byPath = new Map(files.map((source) => [source.path, source]))
  const alive = new Set<string>()
  const visit = (path: string) => {
    const source = byPath.get(path)
    if (!source || alive.has(path)) return
    alive.add(path)
    for (const target of mentionsOf(source)) visit(target)
  }
  for (const { path } of files.filter((source) => isEntry(source.path))) visit(path)
  return files
    .filter((source) => !alive.has(source.path))
    .map(({ path }) => ({ path, line: 1, message: "nothing in service imports this file" }))
}

/** A cycle of the list, as a path of modules; undefined when it has none. */
export function cycleOf(
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

/** Files that import each other in a circle. */
export function circles(sources: readonly Source[]): readonly Finding[] {
  const files = sources.filter(({ path }) => /^(src|ui)\//.test(path))
  const byPath = new Map(files.map((source) => [source.path, targetsOf(source)]))
  return connected(byPath).flatMap((circle) => {
    const [path = "", ...others] = circle.toSorted()
    if (circle.length < 2 && !byPath.get(path)?.includes(path)) return []
    return [{ path, line: 1, message: `in a circle with ${others.join(", ")}` }]
  })
}

const targetsOf = (source: Source): readonly string[] =>
  importsOf(source).flatMap(({ target }) => target ?? [])

/** Tarjan's strongly connected components. */
function connected(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
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
  /** The file, relative to the root; libraries have none. */
  readonly target: string | undefined
}

/** Imports of every form: static, re-exported, lazy and of types. */
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

/** Paths that a file names: imports, workers, and the entries of a bundle. */
function mentionsOf(source: Source): readonly string[] {
  return nodesOf(source).flatMap((node) => {
    const text = textOf(node)
    if (!text || !/\.tsx?$/.test(text)) return []
    return [posix.join(posix.dirname(source.path), text), posix.normalize(text)]
  })
}

const textOf = (node: Node) => (isStringLiteral(node) ? node.text : undefined)

const resolve = (path: string, specifier: string) =>
  specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined
