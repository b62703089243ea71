import { type Branding, createPalette, defaultColors, type Mode } from "../kit/branding.ts"

/** Branding of emails of an organization or the instance. */
export type MailBranding = {
  /** The owner's name. */
  readonly name: string
  readonly branding: Branding
  /**
   * Public URL of the logo, in a format that older clients support; empty if there is none, in
   * which case the name is shown.
   */
  readonly logo: string
  readonly logoDark: string
}

/** Colors of an email as #rrggbb. */
export type MailColors = Readonly<
  Record<"page" | "card" | "words" | "quiet" | "button" | "onButton", string>
>

const defaultMailColors: Readonly<Record<Mode, MailColors>> = {
  light: {
    page: defaultColors.light.page,
    card: defaultColors.light.surface,
    words: defaultColors.light.text,
    quiet: "#585e6c",
    button: defaultColors.light.accent,
    onButton: "#ffffff",
  },
  dark: {
    page: defaultColors.dark.page,
    card: defaultColors.dark.surface,
    words: defaultColors.dark.text,
    quiet: "#a2a8b6",
    button: defaultColors.dark.accent,
    onButton: "#101b38",
  },
}

/** The email colors in one mode, derived from those of the pages. */
export function createColors(branding: Branding, mode: Mode): MailColors {
  const { variables } = createPalette(branding, mode)
  const own = defaultMailColors[mode]
  return {
    page: variables.page ?? own.page,
    card: variables.surface ?? own.card,
    words: variables.text ?? own.words,
    quiet: variables["text-quiet"] ?? own.quiet,
    button: variables.accent ?? own.button,
    onButton: variables["on-accent"] ?? own.onButton,
  }
}
