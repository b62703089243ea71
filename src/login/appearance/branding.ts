import { createHash } from "node:crypto"
import type { Appearance, FooterLink, ThemedImage } from "../../../ui/login/index.ts"
import { instance } from "../../domain/instance/index.ts"
import {
  brandingPath,
  findPolicy,
  type Label,
  label,
  type Privacy,
  policyOf,
  privacy,
} from "../../domain/policy/index.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import { memoizeByObject } from "../../kernel/lru.ts"
import { localizeLink } from "../../kernel/text/language.ts"
import type { Cx } from "../../store/index.ts"
import { loginPaths } from "../path.ts"

/** Loaded only if a theme has custom colors. */
const loadUi = loadOnce(() => import("../../../ui/login/index.ts"))

/** Represents the instance in URLs that contain an organization ID; these IDs contain no dot. */
const instanceKey = "."

/** Settings that are not part of the stylesheet: pages reference these files directly. */
const nonSheetSettings: readonly string[] = [
  "hideLoginNameSuffix",
  "logo",
  "logoDark",
  "icon",
  "iconDark",
]

const sheetSettings = Object.keys(label.standard).filter((name) => !nonSheetSettings.includes(name))

/** The version of the stylesheet; undefined if all its settings have default values. */
const sheetVersion = memoizeByObject((values: Label): string | undefined =>
  sheetSettings.some((name) => Reflect.get(values, name) !== Reflect.get(label.standard, name))
    ? versionOf(values)
    : undefined,
)

/** The organization whose branding is shown. */
export type BrandingOrg = { readonly id: string; readonly name: string }

/**
 * The appearance of an organization's or the instance's pages: logo, icon, and a stylesheet whose
 * URL changes with the settings, if any are set.
 */
export function appearanceOf(cx: Cx, home: BrandingOrg | undefined, language: string): Appearance {
  const { values, source: stand } = findPolicy(cx, home?.id, label)
  const at = (name: string) => brandingPath(stand.owner, name)
  const logo = imageOf(at, { light: values.logo, dark: values.logoDark })
  return {
    brand: home?.name,
    sheet: sheetUrl(home?.id, sheetVersion(values)),
    links: footerLinksOf(policyOf(cx, home?.id ?? "", privacy))(language),
    icon: imageOf(at, { light: values.icon, dark: values.iconDark }),
    logo: logo && {
      ...imageForTheme(logo, values.themeMode),
      name: home?.name ?? cx.store.state(cx, instance, cx.instance).name,
    },
  }
}

/** The footer links of the organization, otherwise of the instance, by language. */
const footerLinksOf = memoizeByObject((policyLinks: Privacy) => {
  const linksByLanguage = new Map<string, readonly FooterLink[]>()
  return (language: string): readonly FooterLink[] => {
    const links = linksByLanguage.get(language) ?? footerLinksIn(policyLinks, language)
    linksByLanguage.set(language, links)
    return links
  }
})

function footerLinksIn(policyLinks: Privacy, language: string): readonly FooterLink[] {
  const at = (link: string) => localizeLink(link, language)
  const [supportEmail, customLink] = [at(policyLinks.supportEmail), at(policyLinks.customLink)]
  const { customLinkText } = policyLinks
  const links: readonly FooterLink[] = [
    { name: "register.terms", href: at(policyLinks.tosLink) },
    { name: "register.privacy", href: at(policyLinks.privacyLink) },
    { name: "foot.help", href: at(policyLinks.helpLink) },
    { name: "foot.support", href: supportEmail && `mailto:${encodeURIComponent(supportEmail)}` },
    { name: "foot.docs", href: at(policyLinks.docsLink) },
    { name: { said: customLinkText || customLink }, href: customLink },
  ]
  return links.filter(({ href }) => href !== "")
}

/** A light image with an optional dark variant; undefined if there is neither. */
function imageOf(
  at: (name: string) => string,
  { light, dark }: ThemedImage,
): ThemedImage | undefined {
  const fallbackImage = light || dark
  if (!fallbackImage) return undefined
  return dark && dark !== fallbackImage
    ? { light: at(fallbackImage), dark: at(dark) }
    : { light: at(fallbackImage) }
}

/** Pages with a fixed theme show only one variant. */
const imageForTheme = ({ light, dark }: ThemedImage, mode: Label["themeMode"]): ThemedImage =>
  mode === "auto" ? { light, dark } : { light: mode === "dark" ? (dark ?? light) : light }

function sheetUrl(orgId: string | undefined, version: string | undefined): string | undefined {
  const orgKey = orgId === undefined ? instanceKey : encodeURIComponent(orgId)
  return version && `${loginPaths.sheet}?of=${orgKey}&is=${version}`
}

const versionOf = (values: Label): string =>
  createHash("sha256").update(JSON.stringify(values)).digest("base64url").slice(0, 12)

/** The stylesheet. It can be cached forever, because its URL contains its version. */
export async function renderSheet(cx: Cx, search: URLSearchParams): Promise<Response> {
  const orgKey = search.get("of") ?? instanceKey
  const { values, source: stand } = findPolicy(
    cx,
    orgKey === instanceKey ? undefined : orgKey,
    label,
  )
  const isNamed = search.get("is") === versionOf(values)
  const { createBrandingStylesheet } = await loadUi()
  const sheet = createBrandingStylesheet({
    ...values,
    font: brandingPath(stand.owner, values.font),
  })
  return new Response(sheet, {
    headers: {
      "content-type": "text/css; charset=utf-8",
      "cache-control": isNamed ? "public, max-age=31536000, immutable" : "no-cache",
    },
  })
}
