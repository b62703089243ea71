import type { SecuritySettings } from "../../../src/gen/core/settings/v2/security_settings_pb.ts"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { Alert } from "../../kit/index.ts"
import { Switch } from "../form/index.ts"
import { call, Section, t, useReadIfAllowed } from "../shell/index.ts"
import { Embedding } from "./embedding.tsx"

/** What is shut to others until somebody opens it; nothing for who may not see it. */
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

/** What others could misuse is off until somebody needs it. */
function Impersonation({ security }: { readonly security: SecuritySettings }) {
  const { embeddedIframe, enableImpersonation } = security
  const impersonate = (wanted: boolean) => {
    const kept = embeddedIframe && { embeddedIframe }
    const settings = { ...kept, enableImpersonation: wanted }
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
