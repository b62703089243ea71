import { createHash } from "node:crypto"
import type { FootLink, Look, Picture } from "../../../ui/login/index.ts"
import { instance } from "../../domain/instance/index.ts"
import {
  findPolicy,
  type Label,
  label,
  lookPath,
  type Privacy,
  policyOf,
  privacy,
} from "../../domain/policy/index.ts"
import { lazily } from "../../kernel/lazy.ts"
import { keptWith } from "../../kernel/lru.ts"
import { linkIn } from "../../kernel/text/language.ts"
import type { Cx } from "../../store/index.ts"
import { loginPaths } from "../path.ts"

/** Only who has chosen colours needs it, and what makes them. */
const loadUi = lazily(() => import("../../../ui/login/index.ts"))

/** Stands for the instance where an address names an organisation; ids of these have no dot. */
const ofInstance = "."

/** What is no matter of the sheet: pages name these files themselves. */
const beside: readonly string[] = ["hideLoginNameSuffix", "logo", "logoDark", "icon", "iconDark"]

const inSheet = Object.keys(label.standard).filter((name) => !beside.includes(name))

/** The version of the sheet; undefined where nothing in it is said. */
const sheetVersion = keptWith((values: Label): string | undefined =>
  inSheet.some((name) => Reflect.get(values, name) !== Reflect.get(label.standard, name))
    ? versionOf(values)
    : undefined,
)

/** The organisation whose pages are shown. */
export type Home = { readonly id: string; readonly name: string }

/**
 * How the pages of an organisation, or of the instance, look: a sheet under an address that changes
 * with what is said, where anybody has said anything, and their logo and icon.
 */
export function lookOf(cx: Cx, home: Home | undefined, language: string): Look {
  const { values, stand } = findPolicy(cx, home?.id, label)
  const at = (name: string) => lookPath(stand.owner, name)
  const logo = pictureOf(at, { light: values.logo, dark: values.logoDark })
  return {
    brand: home?.name,
    sheet: sheetAt(home?.id, sheetVersion(values)),
    links: linksOf(policyOf(cx, home?.id ?? "", privacy))(language),
    icon: pictureOf(at, { light: values.icon, dark: values.iconDark }),
    logo: logo && {
      ...inMode(logo, values.themeMode),
      name: home?.name ?? cx.store.state(cx, instance, cx.instance).name,
    },
  }
}

/** Where an organisation, else the instance, leads people beside the way in, by the language. */
const linksOf = keptWith((said: Privacy) => {
  const kept = new Map<string, readonly FootLink[]>()
  return (language: string): readonly FootLink[] => {
    const links = kept.get(language) ?? linksIn(said, language)
    kept.set(language, links)
    return links
  }
})

function linksIn(said: Privacy, language: string): readonly FootLink[] {
  const at = (link: string) => linkIn(link, language)
  const [supportEmail, customLink] = [at(said.supportEmail), at(said.customLink)]
  const { customLinkText } = said
  const links: readonly FootLink[] = [
    { name: "register.terms", href: at(said.tosLink) },
    { name: "register.privacy", href: at(said.privacyLink) },
    { name: "foot.help", href: at(said.helpLink) },
    { name: "foot.support", href: supportEmail && `mailto:${encodeURIComponent(supportEmail)}` },
    { name: "foot.docs", href: at(said.docsLink) },
    { name: { said: customLinkText || customLink }, href: customLink },
  ]
  return links.filter(({ href }) => href !== "")
}

/** One picture, and another where it is dark, if there is one; undefined for none at all. */
function pictureOf(at: (name: string) => string, { light, dark }: Picture): Picture | undefined {
  const shown = light || dark
  if (!shown) return undefined
  return dark && dark !== shown ? { light: at(shown), dark: at(dark) } : { light: at(shown) }
}

/** Pages that are always light, or always dark, show one alone. */
const inMode = ({ light, dark }: Picture, mode: Label["themeMode"]): Picture =>
  mode === "auto" ? { light, dark } : { light: mode === "dark" ? (dark ?? light) : light }

function sheetAt(orgId: string | undefined, version: string | undefined): string | undefined {
  const place = orgId === undefined ? ofInstance : encodeURIComponent(orgId)
  return version && `${loginPaths.sheet}?of=${place}&is=${version}`
}

const versionOf = (values: Label): string =>
  createHash("sha256").update(JSON.stringify(values)).digest("base64url").slice(0, 12)

/** The sheet itself, to be kept for good under an address that names this version of it. */
export async function showSheet(cx: Cx, search: URLSearchParams): Promise<Response> {
  const place = search.get("of") ?? ofInstance
  const { values, stand } = findPolicy(cx, place === ofInstance ? undefined : place, label)
  const isNamed = search.get("is") === versionOf(values)
  const { brandingSheet } = await loadUi()
  const sheet = brandingSheet({ ...values, font: lookPath(stand.owner, values.font) })
  return new Response(sheet, {
    headers: {
      "content-type": "text/css; charset=utf-8",
      "cache-control": isNamed ? "public, max-age=31536000, immutable" : "no-cache",
    },
  })
}
