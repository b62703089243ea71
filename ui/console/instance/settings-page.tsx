import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { useReadIfAllowed } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { useText } from "../shell/text.ts"
import { Lifetimes } from "./lifetimes.tsx"
import { useOidcSettings } from "./oidc.ts"
import { Restrictions } from "./restrictions.tsx"
import { OidcSwitches, Security } from "./switches.tsx"

/** What holds for the whole instance, unless an application says otherwise. */
export function SettingsPage() {
  const { t } = useText()
  const settings = useOidcSettings()
  const security = useReadIfAllowed(SettingsService.method.getSecuritySettings)
  const restrictions = useReadIfAllowed(AdminService.method.getRestrictions)
  return (
    <Page title={t("nav.settings")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("settings.lead")}</p>
      <Lifetimes settings={settings} />
      {security?.settings && <Security security={security.settings} />}
      {restrictions && <Restrictions restrictions={restrictions} />}
      <OidcSwitches settings={settings} />
    </Page>
  )
}
