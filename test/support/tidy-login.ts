import { importsOf } from "./tidy-imports.ts"
import { findingAt, type Rule } from "./tidy-source.ts"

/**
 * The layers of src/login, the lowest first; see src/README.md. Each file imports those of layers
 * before its own. Files of one folder may import each other; each kind of screen is a folder.
 */
export const loginLayers: readonly (readonly string[])[] = [
  ["flow.ts"],
  ["path.ts", "form.ts"],
  ["look/"],
  ["page.ts"],
  ["policy/"],
  ["request.ts"],
  ["entered/"],
  ["session.ts"],
  ["context.ts"],
  ["note.ts"],
  ["trouble.ts", "finished.ts"],
  ["finish.ts", "complete-sign-in.ts", "entrance.ts"],
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

/** The layer of a file, and the place in it; undefined for one that is in none. */
function placeOf(path: string): { readonly layer: number; readonly name: string } | undefined {
  const inside = path.slice(root.length)
  const fits = (name: string) => (name.endsWith("/") ? inside.startsWith(name) : inside === name)
  const layer = loginLayers.findIndex((names) => names.some(fits))
  const name = loginLayers[layer]?.find(fits)
  return name === undefined ? undefined : { layer, name }
}

/** The login is built in layers, and no import leads up. What the flow goes by is data. */
export const layersOfLogin: Rule = (source) => {
  if (!source.path.startsWith(root)) return []
  const own = placeOf(source.path)
  if (!own) return [{ path: source.path, line: 1, message: "in no layer of src/login" }]
  return importsOf(source).flatMap(({ node, target }) => {
    if (own.name === "flow.ts" && target?.startsWith("src/store/")) {
      return [findingAt(source, node, "flow.ts reads nothing: it is given data")]
    }
    if (!target?.startsWith(root)) return []
    const other = placeOf(target)
    const isBelow = other && (other.layer < own.layer || other.name === own.name)
    return isBelow ? [] : [findingAt(source, node, `${own.name} is not above ${target}`)]
  })
}
