import { contrast, legible, mixed, onto, textContrast } from "./colour.ts"

export const modes = ["light", "dark"] as const
export type Mode = (typeof modes)[number]

/** What a policy says of how pages look, by the names of its fields. Colours are #rrggbb. */
export type Branding = {
  readonly primaryColor: string
  readonly backgroundColor: string
  readonly warnColor: string
  readonly fontColor: string
  readonly primaryColorDark: string
  readonly backgroundColorDark: string
  readonly warnColorDark: string
  readonly fontColorDark: string
  readonly disableWatermark: boolean
  readonly themeMode: "auto" | Mode
  /** The address of a font, on our own server; empty or left out for ours. */
  readonly font?: string
}

/** What the interface answers where nobody has said anything: pages then have their own colours. */
export const unsaid: Branding = {
  primaryColor: "#5469d4",
  backgroundColor: "#fafafa",
  warnColor: "#cd3d56",
  fontColor: "#000000",
  primaryColorDark: "#2073c4",
  backgroundColorDark: "#111827",
  warnColorDark: "#ff3b5b",
  fontColorDark: "#ffffff",
  disableWatermark: false,
  themeMode: "auto",
}

const roles = ["primaryColor", "backgroundColor", "warnColor", "fontColor"] as const
type Role = (typeof roles)[number]

/** The field that says a colour in a mode. */
const fieldOf = (role: Role, mode: Mode): ColourField => (mode === "light" ? role : `${role}Dark`)

type ColourField = Role | `${Role}Dark`

/** Those of `tokens.css`. */
export const delivered = {
  light: {
    accent: "#2f55b4",
    page: "#f6f7f9",
    surface: "#ffffff",
    text: "#191c24",
    danger: "#b0271d",
  },
  dark: {
    accent: "#94aefc",
    page: "#101217",
    surface: "#171a21",
    text: "#e7e9ef",
    danger: "#ff958b",
  },
} as const

/** A colour that could not be read as it was chosen, and what pages take instead. */
export type Corrected = {
  readonly field: ColourField
  readonly chosen: string
  readonly used: string
  /** WCAG 2.2 contrast of what was chosen. */
  readonly ratio: number
}

export type Palette = {
  /** Variables of `tokens.css` with their colour; none where nothing was chosen. */
  readonly variables: Readonly<Record<string, string>>
  readonly corrected: readonly Corrected[]
}

/** The colours of pages in one mode. What can't be read is made legible, and said. */
export function paletteOf(branding: Branding, mode: Mode): Palette {
  const chosen = (role: Role) => {
    const field = fieldOf(role, mode)
    return branding[field] === unsaid[field] ? undefined : branding[field].toLowerCase()
  }
  if (roles.every((role) => chosen(role) === undefined)) return { variables: {}, corrected: [] }
  const own = delivered[mode]
  const back = chosen("backgroundColor")
  const [page, surface] = back ? [back, back] : [own.page, own.surface]
  const sunken = mixed(surface, onto(surface), 0.05)
  const backs = [page, surface, sunken]
  const corrected: Corrected[] = []
  const readable = (role: Role, otherwise: string): string => {
    const wanted = chosen(role) ?? otherwise
    const used = legible(wanted, backs)
    if (used !== wanted && chosen(role)) {
      const ratio = Math.min(...backs.map((each) => contrast(wanted, each)))
      corrected.push({ field: fieldOf(role, mode), chosen: wanted, used, ratio })
    }
    return used
  }
  const text = readable("fontColor", own.text)
  const accent = readable("primaryColor", own.accent)
  const danger = readable("warnColor", own.danger)
  const tints = { accent: tintOf(surface, accent), danger: tintOf(surface, danger) }
  const variables = {
    page,
    surface,
    sunken,
    line: mixed(surface, text, 0.14),
    "control-line": legible(mixed(surface, text, 0.5), backs, 3),
    text,
    "text-quiet": legible(mixed(text, surface, 0.3), [...backs, tints.accent]),
    accent,
    "accent-strong": mixed(accent, onto(surface), 0.2),
    "on-accent": legible(onto(accent), [accent]),
    "accent-quiet": tints.accent,
    danger: legible(danger, [...backs, tints.danger]),
    "danger-strong": legible(mixed(danger, onto(surface), 0.2), [tints.danger]),
    "on-danger": onto(danger),
    "danger-quiet": tints.danger,
  }
  return { variables, corrected }
}

/** A breath of a colour, where text can still be read on it. */
function tintOf(surface: string, colour: string): string {
  const tint = mixed(surface, colour, 0.1)
  return contrast(onto(surface), tint) > textContrast + 0.5 ? tint : surface
}

/**
 * The sheet that pages load after their own, so that they look as a policy says. It has nothing but
 * colours that were made here, the address of a font, and fixed text.
 */
export function brandingSheet(branding: Branding): string {
  const { disableWatermark, themeMode, font = "" } = branding
  const [light, dark] = [paletteOf(branding, "light"), paletteOf(branding, "dark")]
  const names = new Set([...Object.keys(light.variables), ...Object.keys(dark.variables)])
  const rules = modes.map((mode) => {
    const { variables } = mode === "light" ? light : dark
    const lines = [...names].flatMap((name) => {
      const value = variables[name]
      return value ? [`--${name}:${value}`] : []
    })
    return [mode, lines.join(";")] as const
  })
  // Each mode has a rule of its own: one that says nothing keeps the colours of the kit.
  const coloured = rules.flatMap(([mode, lines]) => (lines ? [ruleOf(mode, lines, themeMode)] : []))
  const theme = themeMode === "auto" ? [] : [`:root{color-scheme:${themeMode}!important}`]
  const sign = disableWatermark ? [".brand-ours,.gate .brand .mark{display:none}"] : []
  return [...fontRules(font), ...coloured, ...theme, ...sign].filter(Boolean).join("\n")
}

/** Words are there at once, in our font, until theirs has come. */
const fontRules = (address: string): readonly string[] =>
  address === "" || /["\\\s]/.test(address)
    ? []
    : [`@font-face{font-family:Own;src:url("${address}");font-display:swap}`, ":root{--own:Own}"]

/** When a mode holds: the policy says it, else the person in this browser, else the system. */
function ruleOf(mode: Mode, lines: string, themeMode: Branding["themeMode"]): string {
  if (themeMode !== "auto") return themeMode === mode ? `:root{${lines}}` : ""
  const system = `@media (prefers-color-scheme:${mode}){:root:not([data-theme]){${lines}}}`
  return `${system}\n:root[data-theme="${mode}"]{${lines}}`
}

/** Whether a policy says anything of how pages look. */
export const isBranded = (branding: Branding): boolean =>
  fieldNames.some((name) => branding[name] !== unsaid[name])

const fieldNames = Object.keys(unsaid).filter((name): name is keyof Branding => name in unsaid)
