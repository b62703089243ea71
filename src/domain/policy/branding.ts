import { definePolicy, type Policy } from "./kind.ts"
import { requireColor, requireEmail, requireLinkTemplate, requirePlainText } from "./validate.ts"

export type Privacy = {
  readonly tosLink: string
  readonly privacyLink: string
  readonly helpLink: string
  readonly supportEmail: string
  readonly docsLink: string
  readonly customLink: string
  readonly customLinkText: string
}

/** Links on the login pages; empty ones are not shown. */
export const privacy = definePolicy<Privacy>({
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
  validate: ({ supportEmail, customLinkText, ...links }) => {
    requireLinkTemplate("tos_link", links.tosLink)
    requireLinkTemplate("privacy_link", links.privacyLink)
    requireLinkTemplate("help_link", links.helpLink)
    requireLinkTemplate("docs_link", links.docsLink)
    requireLinkTemplate("custom_link", links.customLink)
    requireEmail("support_email", supportEmail)
    requirePlainText("custom_link_text", customLinkText, { max: 100 })
  },
})

export const themeModes = ["auto", "dark", "light"] as const

/** Branding file names by kind; empty if there is none. */
export type BrandingFiles = {
  readonly logo: string
  readonly logoDark: string
  readonly icon: string
  readonly iconDark: string
  readonly font: string
}

export const brandingFileFields = ["logo", "logoDark", "icon", "iconDark", "font"] as const

export type Label = BrandingFiles & {
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

/** Branding of the login pages. */
export const label = definePolicy<Label>({
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
  validate: (values) => {
    requireColor("primary_color", values.primaryColor)
    requireColor("background_color", values.backgroundColor)
    requireColor("warn_color", values.warnColor)
    requireColor("font_color", values.fontColor)
    requireColor("primary_color_dark", values.primaryColorDark)
    requireColor("background_color_dark", values.backgroundColorDark)
    requireColor("warn_color_dark", values.warnColorDark)
    requireColor("font_color_dark", values.fontColorDark)
  },
})

/** Branding changes that only administrators see before they are activated. */
export const labelPreview: Policy<Label> = { ...label, kind: "label.preview" }
