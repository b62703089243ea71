import { type ReactNode, useEffect, useRef } from "react"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import {
  Alert,
  type Branding,
  Button,
  type Corrected,
  Mark,
  type Mode,
  modes,
  type Palette,
  paletteOf,
  TextField,
  unsaid,
} from "../../kit/index.ts"
import { language, t } from "../shell/index.ts"
import { useLook, useLookFile } from "./branding-files.ts"
import type { PolicyOwner, Values } from "./policy.ts"

type PreviewProps = { readonly values: Values; readonly place: PolicyOwner }

/** What the pages for signing in would look like, light and dark, before it is saved. */
export function BrandingPreview({ values, place }: PreviewProps) {
  const branding = brandingOf(values)
  const shown = modes
    .filter((mode) => branding.themeMode === "auto" || branding.themeMode === mode)
    .map((mode) => ({ mode, palette: paletteOf(branding, mode) }))
  return (
    <div className="previews">
      {shown.map(({ mode, palette }) => (
        <figure key={mode} className="preview">
          <figcaption className="quiet small">{t(`policy.branding.preview_${mode}`)}</figcaption>
          <Page
            mode={mode}
            palette={palette}
            sign={<Sign place={place} mode={mode} isOurs={!branding.disableWatermark} />}
          />
          {palette.corrected.map((one) => (
            <Correction key={one.field} corrected={one} />
          ))}
        </figure>
      ))}
    </div>
  )
}

/** What a form holds; what is not a colour yet, while it is typed, says nothing. */
function brandingOf(values: Values): Branding {
  const said = Object.entries(values).filter(
    ([, value]) => typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value),
  )
  // The form states the opposite of the field: whether the logo is shown.
  const disableWatermark = values.disableWatermark === false
  const themeMode = themes[String(values.themeMode)] ?? "auto"
  return { ...unsaid, ...Object.fromEntries(said), disableWatermark, themeMode }
}

const themes: Readonly<Record<string, Mode>> = {
  [ThemeMode.LIGHT]: "light",
  [ThemeMode.DARK]: "dark",
}

type PageProps = {
  readonly mode: Mode
  readonly palette: Palette
  readonly sign: ReactNode
}

/** A picture of the page, made of what the page is made of. */
function Page({ mode, palette, sign }: PageProps) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { style } = ref.current ?? {}
    if (!style) return
    style.cssText = ""
    style.colorScheme = mode
    for (const [name, value] of Object.entries(palette.variables)) {
      style.setProperty(`--${name}`, value)
    }
  }, [mode, palette])
  return (
    <div className="preview-page" ref={ref} inert>
      {sign}
      <div className="card gate-card">
        <p className="preview-title">{t("policy.branding.sample_title")}</p>
        <TextField
          label={t("policy.branding.sample_field")}
          error={t("policy.branding.sample_error")}
          readOnly
          value="ada@example.com"
        />
        <Button kind="primary">{t("policy.branding.sample_button")}</Button>
        <span className="preview-link">{t("policy.branding.sample_link")}</span>
      </div>
    </div>
  )
}

type SignProps = { readonly place: PolicyOwner; readonly mode: Mode; readonly isOurs: boolean }

/** Their logo where there is one; else ours, unless that is not wanted. */
function Sign({ place, mode, isOurs }: SignProps) {
  const look = useLook(place)
  const [hasLight, hasDark] = [look?.has("logoUrl"), look?.has("logoUrlDark")]
  const kind = hasDark && (mode === "dark" || !hasLight) ? "logo/dark" : "logo"
  if (hasLight || hasDark) return <Logo place={place} kind={kind} />
  if (!isOurs) return null
  return (
    <div className="brand">
      <Mark />
      Latchkey
    </div>
  )
}

type LogoProps = { readonly place: PolicyOwner; readonly kind: "logo" | "logo/dark" }

function Logo({ place, kind }: LogoProps) {
  const address = useLookFile(place, kind)
  return <div className="brand">{address && <img className="logo" src={address} alt="" />}</div>
}

function Correction({ corrected }: { readonly corrected: Corrected }) {
  const { field, chosen, used, ratio } = corrected
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 })
  const values = { name: t(`policy.branding.${field}`), chosen, used, ratio: number.format(ratio) }
  return <Alert tone="warning">{t("policy.branding.corrected", values)}</Alert>
}
