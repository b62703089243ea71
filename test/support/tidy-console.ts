import { isIdentifier } from "typescript/unstable/ast"
import { importsOf } from "./tidy-imports.ts"
import { findingAt, nodesOf, type Rule } from "./tidy-source.ts"

const home = "ui/console/"
const entry = `${home}main.tsx`

/**
 * The directories of the console, from the lowest to the highest. Each can import those before it,
 * which prevents cycles. `main.tsx` is above them all.
 */
export const consoleLayers: readonly string[] = [
  "shell",
  "form",
  "list",
  "message",
  "policy",
  "instance",
  "user",
  "administrator",
  "organization",
  "refused-request",
  "application",
  "start",
  "project",
  "group",
  "script",
  "event",
  "target",
  "text",
  "idp",
  "provider",
  "transfer",
  "account",
  "app",
]

/** The position of a console file in the list; -1 if its directory is missing. */
function layerOf(path: string): number {
  if (path === entry) return consoleLayers.length
  return consoleLayers.indexOf(/^ui\/console\/([\w-]+)\//.exec(path)?.[1] ?? "")
}

/** A directory of the console imports only directories before it in the list. */
export const layers: Rule = (source) => {
  const { path, tree } = source
  if (!path.startsWith(home)) return []
  const own = layerOf(path)
  if (own === -1) return [findingAt(source, tree, "its folder is not in the list of layers")]
  return importsOf(source).flatMap(({ node, target }) => {
    if (!target?.startsWith(home) || layerOf(target) <= own) return []
    return [findingAt(source, node, `it is in a layer below ${target}`)]
  })
}

/** Pages read and write fields by names that the compiler checks. */
export const typedFields: Rule = (source) => {
  if (!source.path.startsWith("ui/")) return []
  return nodesOf(source)
    .filter((node) => isIdentifier(node) && node.getText() === "Reflect")
    .map((node) => findingAt(source, node, "read the field by a typed name"))
}
