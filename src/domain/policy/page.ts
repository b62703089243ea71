import { color, linkTemplate, mailAddress, shortText } from "./bound.ts"
import { type Policy, policy } from "./kind.ts"

export type Privacy = {
  readonly tosLink: string
  readonly privacyLink: string
  readonly helpLink: string
  readonly supportEmail: string
  readonly docsLink: string
  readonly customLink: string
  readonly customLinkText: string
}

/** Where the pages lead beside the way in; what is empty is left out. */
export const privacy = policy<Privacy>({
  kind: "privacy",
  standard: {
    tosLink: "",
    privacyLink: "",
    helpLink: "",
    supportEmail: "",
    docsLink: "",
    customLink: "",
    customLinkText: "",
  },
  check: ({ supportEmail, customLinkText, ...links }) => {
    linkTemplate("tos_link", links.tosLink)
    linkTemplate("privacy_link", links.privacyLink)
    linkTemplate("help_link", links.helpLink)
    linkTemplate("docs_link", links.docsLink)
    linkTemplate("custom_link", links.customLink)
    mailAddress("support_email", supportEmail)
    shortText("custom_link_text", customLinkText, { max: 100 })
  },
})

export const themeModes = ["auto", "dark", "light"] as const

/** Names of files, by what they are for; empty where there is none. */
export type LookFiles = {
  readonly logo: string
  readonly logoDark: string
  readonly icon: string
  readonly iconDark: string
  readonly font: string
}

export const lookFields = ["logo", "logoDark", "icon", "iconDark", "font"] as const

export type Label = LookFiles & {
  readonly primaryColor: string
  readonly backgroundColor: string
  readonly warnColor: string
  readonly fontColor: string
  readonly primaryColorDark: string
  readonly backgroundColorDark: string
  readonly warnColorDark: string
  readonly fontColorDark: string
  readonly hideLoginNameSuffix: boolean
  readonly disableWatermark: boolean
  readonly themeMode: (typeof themeModes)[number]
}

/** How the pages look. */
export const label = policy<Label>({
  kind: "label",
  standard: {
    primaryColor: "#5469d4",
    backgroundColor: "#fafafa",
    warnColor: "#cd3d56",
    fontColor: "#000000",
    primaryColorDark: "#2073c4",
    backgroundColorDark: "#111827",
    warnColorDark: "#ff3b5b",
    fontColorDark: "#ffffff",
    hideLoginNameSuffix: false,
    disableWatermark: false,
    themeMode: "auto",
    logo: "",
    logoDark: "",
    icon: "",
    iconDark: "",
    font: "",
  },
  check: (values) => {
    color("primary_color", values.primaryColor)
    color("background_color", values.backgroundColor)
    color("warn_color", values.warnColor)
    color("font_color", values.fontColor)
    color("primary_color_dark", values.primaryColorDark)
    color("background_color_dark", values.backgroundColorDark)
    color("warn_color_dark", values.warnColorDark)
    color("font_color_dark", values.fontColorDark)
  },
})

/** What was changed of it, and nobody but administrators sees before it is activated. */
export const labelPreview: Policy<Label> = { ...label, kind: "label.preview" }
