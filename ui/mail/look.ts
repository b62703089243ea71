import { type Branding, delivered, type Mode, paletteOf } from "../kit/branding.ts"

/** How the mails of an organisation, or of the instance, look. */
export type MailLook = {
  /** Whose they are. */
  readonly name: string
  readonly branding: Branding
  /**
   * Addresses that everybody reaches, of pictures that old clients show, too; empty for none. What
   * stands for the name.
   */
  readonly logo: string
  readonly logoDark: string
}

/** Colours of a mail as #rrggbb. */
export type Colours = Readonly<
  Record<"page" | "card" | "words" | "quiet" | "button" | "onButton", string>
>

const standard: Readonly<Record<Mode, Colours>> = {
  light: {
    page: delivered.light.page,
    card: delivered.light.surface,
    words: delivered.light.text,
    quiet: "#585e6c",
    button: delivered.light.accent,
    onButton: "#ffffff",
  },
  dark: {
    page: delivered.dark.page,
    card: delivered.dark.surface,
    words: delivered.dark.text,
    quiet: "#a2a8b6",
    button: delivered.dark.accent,
    onButton: "#101b38",
  },
}

/** The colours of mails in one mode: those of the pages. */
export function coloursOf(branding: Branding, mode: Mode): Colours {
  const { variables } = paletteOf(branding, mode)
  const own = standard[mode]
  return {
    page: variables.page ?? own.page,
    card: variables.surface ?? own.card,
    words: variables.text ?? own.words,
    quiet: variables["text-quiet"] ?? own.quiet,
    button: variables.accent ?? own.button,
    onButton: variables["on-accent"] ?? own.onButton,
  }
}
