import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import type { BrandingFiles } from "./branding.ts"
import type { PolicyOwner } from "./commands.ts"

/** Path segments of branding files, by kind. */
export const brandingPaths = {
  logo: "logo",
  "logo/dark": "logoDark",
  icon: "icon",
  "icon/dark": "iconDark",
  font: "font",
} as const satisfies Readonly<Record<string, keyof BrandingFiles>>

/** Public path of a branding file of an organization or the instance; empty if there is no file. */
export const brandingPath = (owner: string, name: string): string =>
  name === "" ? "" : `/assets/v1/${encodeURIComponent(owner)}/policy/label/${name}`

/** Public URL of a branding file; empty if there is no file. */
export const brandingUrl = (cx: Cx, owner: string, name: string): string =>
  name === "" ? "" : `${requireInstance(cx).publicUrl}${brandingPath(owner, name)}`

/** URL of a preview file, for administrators; empty if there is no file. */
export function previewUrl(
  cx: Cx,
  policyOwner: PolicyOwner,
  field: keyof BrandingFiles,
  name: string,
): string {
  const [path] = Object.entries(brandingPaths).find(([, each]) => each === field) ?? []
  if (name === "" || path === undefined) return ""
  const level = policyOwner === undefined ? "instance" : "org"
  const own = requireInstance(cx).publicUrl
  return `${own}/assets/v1/${level}/policy/label/${path}/_preview?is=${name}`
}
