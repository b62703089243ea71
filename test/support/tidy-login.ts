import { importsOf } from "./tidy-imports.ts"
import { findingAt, type Rule } from "./tidy-source.ts"

/**
 * The layers of src/login, lowest first; see src/README.md. Each file imports files of lower
 * layers. Files of one directory can import each other; each kind of screen is a directory.
 */
export const loginLayers: readonly (readonly string[])[] = [
  ["flow.ts"],
  ["path.ts", "form.ts"],
  ["appearance/"],
  ["page.ts"],
  ["policy/"],
  ["request.ts"],
  ["sign-in/"],
  ["session.ts"],
  ["context.ts"],
  ["page-state.ts"],
  ["problem.ts", "finished.ts"],
  ["finish.ts", "complete-sign-in.ts", "load-context.ts"],
  ["part/"],
  [
    "screen/account/",
    "screen/external/",
    "screen/factor/",
    "screen/link/",
    "screen/password/",
    "screen/register/",
  ],
  ["routes.ts"],
  ["index.ts"],
]

const root = "src/login/"

/** The layer of a file, and its position in it; undefined for a file without a layer. */
function layerOf(path: string): { readonly layer: number; readonly name: string } | undefined {
  const inside = path.slice(root.length)
  const fits = (name: string) => (name.endsWith("/") ? inside.startsWith(name) : inside === name)
  const layer = loginLayers.findIndex((names) => names.some(fits))
  const name = loginLayers[layer]?.find(fits)
  return name === undefined ? undefined : { layer, name }
}

/** The login has layers, and no import points upwards. The flow's inputs are data. */
export const loginLayerRule: Rule = (source) => {
  if (!source.path.startsWith(root)) return []
  const own = layerOf(source.path)
  if (!own) return [{ path: source.path, line: 1, message: "in no layer of src/login" }]
  return importsOf(source).flatMap(({ node, target }) => {
    if (own.name === "flow.ts" && target?.startsWith("src/store/")) {
      return [findingAt(source, node, "flow.ts reads nothing: it is given data")]
    }
    if (!target?.startsWith(root)) return []
    const other = layerOf(target)
    const isBelow = other && (other.layer < own.layer || other.name === own.name)
    return isBelow ? [] : [findingAt(source, node, `${own.name} is not above ${target}`)]
  })
}
