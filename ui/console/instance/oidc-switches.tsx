import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Switch } from "../form/index.ts"
import { Section, t } from "../shell/index.ts"
import {
  type OidcSettingsChange,
  type OidcSettingsPart,
  updateOidcSettings,
} from "./oidc-settings.ts"

/** Switches for additional discovery documents and for recording issued tokens. */
export function OidcSwitches({ settings }: OidcSettingsPart) {
  const { tokenAudit } = settings
  const change = (update: OidcSettingsChange) => updateOidcSettings(settings, update)
  return (
    <>
      <Section title={t("settings.discovery")}>
        <Switch
          label={t("settings.metadata")}
          hint={t("settings.metadata_hint")}
          on={settings.authorizationServerMetadata}
          needs={AdminService.method.updateOIDCSettings}
          act={(authorizationServerMetadata) => change({ authorizationServerMetadata })}
        />
      </Section>
      <Section title={t("settings.audit")}>
        <div className="checks">
          <Switch
            label={t("settings.audit_people")}
            hint={t("settings.audit_people_hint")}
            on={tokenAudit?.people ?? false}
            needs={AdminService.method.updateOIDCSettings}
            act={(people) => change({ tokenAudit: { people } })}
          />
          <Switch
            label={t("settings.audit_machines")}
            hint={t("settings.audit_machines_hint")}
            on={tokenAudit?.machines ?? false}
            needs={AdminService.method.updateOIDCSettings}
            act={(machines) => change({ tokenAudit: { machines } })}
          />
        </div>
      </Section>
    </>
  )
}
