import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import type { Place } from "./commands.ts"
import type { LookFiles } from "./page.ts"

/** What files are for, as addresses say it. */
export const lookPaths = {
  logo: "logo",
  "logo/dark": "logoDark",
  icon: "icon",
  "icon/dark": "iconDark",
  font: "font",
} as const satisfies Readonly<Record<string, keyof LookFiles>>

/** Where everybody finds a file of an organisation or of the instance; empty for none. */
export const lookPath = (owner: string, name: string): string =>
  name === "" ? "" : `/assets/v1/${encodeURIComponent(owner)}/policy/label/${name}`

/** The same as an address for others than our own pages. */
export const lookAddress = (cx: Cx, owner: string, name: string): string =>
  name === "" ? "" : `${requireInstance(cx).publicUrl}${lookPath(owner, name)}`

/** Where those who may see it before others find a file; empty for none. */
export function previewAddress(cx: Cx, place: Place, field: keyof LookFiles, name: string): string {
  const [path] = Object.entries(lookPaths).find(([, each]) => each === field) ?? []
  if (name === "" || path === undefined) return ""
  const level = place === undefined ? "instance" : "org"
  const own = requireInstance(cx).publicUrl
  return `${own}/assets/v1/${level}/policy/label/${path}/_preview?is=${name}`
}
