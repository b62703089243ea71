import { contrast, ensureContrast, mix, readableOn, textContrast } from "./color.ts"

export const modes = ["light", "dark"] as const
export type Mode = (typeof modes)[number]

/** The branding of a policy, by field name. Colors are #rrggbb. */
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
  /** URL of a font on this server; empty or omitted for the default font. */
  readonly font?: string
}

/** The values that the API returns for an unset policy; pages then use their default colors. */
export const defaultPolicyColors: Branding = {
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

const colorRoles = ["primaryColor", "backgroundColor", "warnColor", "fontColor"] as const
type ColorRole = (typeof colorRoles)[number]

/** The policy field of a color in a mode. */
const colorFieldOf = (role: ColorRole, mode: Mode): ColorField =>
  mode === "light" ? role : `${role}Dark`

type ColorField = ColorRole | `${ColorRole}Dark`

/** The colors in `tokens.css`. */
export const defaultColors = {
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

/** A color with insufficient contrast, and the one that pages use instead. */
export type CorrectedColor = {
  readonly field: ColorField
  readonly original: string
  readonly corrected: string
  /** WCAG 2.2 contrast ratio of the original color. */
  readonly ratio: number
}

export type Palette = {
  /** CSS variables of `tokens.css` with their colors; empty if no colors are set. */
  readonly variables: Readonly<Record<string, string>>
  readonly corrected: readonly CorrectedColor[]
}

/** The page colors in one mode. Colors with insufficient contrast are corrected and reported. */
export function createPalette(branding: Branding, mode: Mode): Palette {
  const chosen = (role: ColorRole) => {
    const field = colorFieldOf(role, mode)
    return branding[field] === defaultPolicyColors[field]
      ? undefined
      : branding[field].toLowerCase()
  }
  if (colorRoles.every((role) => chosen(role) === undefined))
    return { variables: {}, corrected: [] }
  const own = defaultColors[mode]
  const back = chosen("backgroundColor")
  const [page, surface] = back ? [back, back] : [own.page, own.surface]
  const sunken = mix(surface, readableOn(surface), 0.05)
  const backs = [page, surface, sunken]
  const corrected: CorrectedColor[] = []
  const readable = (role: ColorRole, otherwise: string): string => {
    const original = chosen(role) ?? otherwise
    const used = ensureContrast(original, backs)
    if (used !== original && chosen(role)) {
      const ratio = Math.min(...backs.map((each) => contrast(original, each)))
      corrected.push({
        field: colorFieldOf(role, mode),
        original: original,
        corrected: used,
        ratio,
      })
    }
    return used
  }
  const text = readable("fontColor", own.text)
  const accent = readable("primaryColor", own.accent)
  const danger = readable("warnColor", own.danger)
  const tints = { accent: createTint(surface, accent), danger: createTint(surface, danger) }
  const variables = {
    page,
    surface,
    sunken,
    line: mix(surface, text, 0.14),
    "control-line": ensureContrast(mix(surface, text, 0.5), backs, 3),
    text,
    "text-quiet": ensureContrast(mix(text, surface, 0.3), [...backs, tints.accent]),
    accent,
    "accent-strong": mix(accent, readableOn(surface), 0.2),
    "on-accent": ensureContrast(readableOn(accent), [accent]),
    "accent-quiet": tints.accent,
    danger: ensureContrast(danger, [...backs, tints.danger]),
    "danger-strong": ensureContrast(mix(danger, readableOn(surface), 0.2), [tints.danger]),
    "on-danger": readableOn(danger),
    "danger-quiet": tints.danger,
  }
  return { variables, corrected }
}

/** A light tint of a color on which text is readable. */
function createTint(surface: string, colour: string): string {
  const tint = mix(surface, colour, 0.1)
  return contrast(readableOn(surface), tint) > textContrast + 0.5 ? tint : surface
}

/**
 * The stylesheet that applies a policy's branding; loaded after the default one. Contains only
 * generated colors, the font URL and fixed text.
 */
export function createBrandingStylesheet(branding: Branding): string {
  const { disableWatermark, themeMode, font = "" } = branding
  const [light, dark] = [createPalette(branding, "light"), createPalette(branding, "dark")]
  const names = new Set([...Object.keys(light.variables), ...Object.keys(dark.variables)])
  const rules = modes.map((mode) => {
    const { variables } = mode === "light" ? light : dark
    const lines = [...names].flatMap((name) => {
      const value = variables[name]
      return value ? [`--${name}:${value}`] : []
    })
    return [mode, lines.join(";")] as const
  })
  // Each mode has a separate rule: one without colors keeps the defaults.
  const coloured = rules.flatMap(([mode, lines]) =>
    lines ? [createModeRule(mode, lines, themeMode)] : [],
  )
  const theme = themeMode === "auto" ? [] : [`:root{color-scheme:${themeMode}!important}`]
  const sign = disableWatermark ? [".brand-ours,.gate .brand .mark{display:none}"] : []
  return [...createFontRules(font), ...coloured, ...theme, ...sign].filter(Boolean).join("\n")
}

/** Shows text in the default font until the custom font is loaded. */
const createFontRules = (address: string): readonly string[] =>
  address === "" || /["\\\s]/.test(address)
    ? []
    : [`@font-face{font-family:Own;src:url("${address}");font-display:swap}`, ":root{--own:Own}"]

/** The selector of a mode: set by the policy, by the user in this browser, or by the system. */
function createModeRule(mode: Mode, lines: string, themeMode: Branding["themeMode"]): string {
  if (themeMode !== "auto") return themeMode === mode ? `:root{${lines}}` : ""
  const system = `@media (prefers-color-scheme:${mode}){:root:not([data-theme]){${lines}}}`
  return `${system}\n:root[data-theme="${mode}"]{${lines}}`
}

/** Whether a policy sets any branding. */
export const isBranded = (branding: Branding): boolean =>
  fieldNames.some((name) => branding[name] !== defaultPolicyColors[name])

const fieldNames = Object.keys(defaultPolicyColors).filter(
  (name): name is keyof Branding => name in defaultPolicyColors,
)
