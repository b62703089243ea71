import type { SecuritySettings } from "../../../src/gen/core/settings/v2/security_settings_pb.ts"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { Alert } from "../../kit/index.ts"
import { Switch } from "../form/index.ts"
import { call, Section, t, useReadIfAllowed } from "../shell/index.ts"
import { Embedding } from "./embedding.tsx"

/** Security settings; hidden if the caller can't read them. */
export function Security() {
  const settings = useReadIfAllowed(SettingsService.method.getSecuritySettings)?.settings
  if (!settings) return null
  return (
    <>
      <Embedding security={settings} />
      <Impersonation security={settings} />
    </>
  )
}

/** Off by default, because it could be misused. */
function Impersonation({ security }: { readonly security: SecuritySettings }) {
  const { embeddedIframe, enableImpersonation } = security
  const impersonate = (enabled: boolean) => {
    const unchanged = embeddedIframe && { embeddedIframe }
    const settings = { ...unchanged, enableImpersonation: enabled }
    return call(SettingsService.method.setSecuritySettings, settings)
  }
  return (
    <Section title={t("settings.security")}>
      <Switch
        label={t("settings.impersonation")}
        hint={t("settings.impersonation_hint")}
        on={enableImpersonation}
        needs={SettingsService.method.setSecuritySettings}
        act={impersonate}
      />
      {enableImpersonation && <Alert tone="warning">{t("settings.impersonation_on")}</Alert>}
    </Section>
  )
}
