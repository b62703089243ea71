import { type ReactNode, useEffect, useRef } from "react"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import {
  Alert,
  type Branding,
  Button,
  type CorrectedColor,
  createPalette,
  defaultPolicyColors,
  Mark,
  type Mode,
  modes,
  type Palette,
  TextField,
} from "../../kit/index.ts"
import { language, t } from "../shell/index.ts"
import { useBrandingFile, useBrandingFiles } from "./branding-files.ts"
import type { PolicyOwner, PolicyValues } from "./policy.ts"

type PreviewProps = { readonly values: PolicyValues; readonly owner: PolicyOwner }

/** A preview of the login pages, light and dark, with the unsaved values. */
export function BrandingPreview({ values, owner }: PreviewProps) {
  const branding = toBranding(values)
  const shown = modes
    .filter((mode) => branding.themeMode === "auto" || branding.themeMode === mode)
    .map((mode) => ({ mode, palette: createPalette(branding, mode) }))
  return (
    <div className="previews">
      {shown.map(({ mode, palette }) => (
        <figure key={mode} className="preview">
          <figcaption className="quiet small">{t(`policy.branding.preview_${mode}`)}</figcaption>
          <PagePreview
            mode={mode}
            palette={palette}
            sign={<LogoOrName owner={owner} mode={mode} isOurs={!branding.disableWatermark} />}
          />
          {palette.corrected.map((one) => (
            <ColorCorrectionNote key={one.field} corrected={one} />
          ))}
        </figure>
      ))}
    </div>
  )
}

/** The form values as branding; incomplete colors are ignored. */
function toBranding(values: PolicyValues): Branding {
  const validColors = Object.entries(values).filter(
    ([, value]) => typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value),
  )
  // The form states the opposite of the field: whether the logo is shown.
  const disableWatermark = values.disableWatermark === false
  const themeMode = themes[String(values.themeMode)] ?? "auto"
  return { ...defaultPolicyColors, ...Object.fromEntries(validColors), disableWatermark, themeMode }
}

const themes: Readonly<Record<string, Mode>> = {
  [ThemeMode.LIGHT]: "light",
  [ThemeMode.DARK]: "dark",
}

type PagePreviewProps = {
  readonly mode: Mode
  readonly palette: Palette
  readonly sign: ReactNode
}

/** A picture of a login page with the same styles. */
function PagePreview({ mode, palette, sign }: PagePreviewProps) {
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

type LogoOrNameProps = {
  readonly owner: PolicyOwner
  readonly mode: Mode
  readonly isOurs: boolean
}

/** The customer's logo; without one the product's, unless hidden. */
function LogoOrName({ owner, mode, isOurs }: LogoOrNameProps) {
  const look = useBrandingFiles(owner)
  const [hasLight, hasDark] = [look?.has("logoUrl"), look?.has("logoUrlDark")]
  const kind = hasDark && (mode === "dark" || !hasLight) ? "logo/dark" : "logo"
  if (hasLight || hasDark) return <Logo place={owner} kind={kind} />
  if (!isOurs) return null
  return (
    <div className="brand">
      <Mark />
      Latchkey
    </div>
  )
}

type LogoProps = { readonly place: PolicyOwner; readonly kind: "logo" | "logo/dark" }

function Logo({ place: owner, kind }: LogoProps) {
  const address = useBrandingFile(owner, kind)
  return <div className="brand">{address && <img className="logo" src={address} alt="" />}</div>
}

function ColorCorrectionNote({ corrected }: { readonly corrected: CorrectedColor }) {
  const { field, original: chosen, corrected: used, ratio } = corrected
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 })
  const values = { name: t(`policy.branding.${field}`), chosen, used, ratio: number.format(ratio) }
  return <Alert tone="warning">{t("policy.branding.corrected", values)}</Alert>
}
