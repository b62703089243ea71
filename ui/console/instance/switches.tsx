import type { SecuritySettings } from "../../../src/gen/core/settings/v2/security_settings_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import type { Changed } from "../load.ts"
import { Switch } from "../switch.tsx"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc.ts"

/** Which documents stand beside discovery, and whose tokens are noted when they are issued. */
export function OidcSwitches(part: OidcSettingsPart) {
  const { t, core } = useHouse()
  const { settings, onChanged } = part
  const { tokenAudit } = settings
  const change = (wanted: Parameters<typeof changeOidcSettings>[2]) =>
    changeOidcSettings(core, part, wanted).then(onChanged)
  return (
    <>
      <Section title={t("settings.discovery")}>
        <Switch
          label={t("settings.metadata")}
          hint={t("settings.metadata_hint")}
          on={settings.authorizationServerMetadata}
          act={(authorizationServerMetadata) => change({ authorizationServerMetadata })}
        />
      </Section>
      <Section title={t("settings.audit")}>
        <div className="checks">
          <Switch
            label={t("settings.audit_people")}
            hint={t("settings.audit_people_hint")}
            on={tokenAudit?.people ?? false}
            act={(people) => change({ tokenAudit: { people } })}
          />
          <Switch
            label={t("settings.audit_machines")}
            hint={t("settings.audit_machines_hint")}
            on={tokenAudit?.machines ?? false}
            act={(machines) => change({ tokenAudit: { machines } })}
          />
        </div>
      </Section>
    </>
  )
}

type SecurityProps = {
  readonly security: SecuritySettings
  readonly onChanged: Changed
}

/** What others could misuse is off until somebody needs it. */
export function Security({ security, onChanged }: SecurityProps) {
  const { t, core } = useHouse()
  const { embeddedIframe, enableImpersonation } = security
  const impersonate = async (wanted: boolean) => {
    const kept = embeddedIframe && { embeddedIframe }
    await core.settings.setSecuritySettings({ ...kept, enableImpersonation: wanted })
    await onChanged()
  }
  return (
    <Section title={t("settings.security")}>
      <Switch
        label={t("settings.impersonation")}
        hint={t("settings.impersonation_hint")}
        on={enableImpersonation}
        act={impersonate}
      />
      {enableImpersonation && <Alert tone="warning">{t("settings.impersonation_on")}</Alert>}
    </Section>
  )
}
