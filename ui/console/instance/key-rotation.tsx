import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { Alert } from "../../kit/index.ts"
import { amountOf, durationOf, durationText, EditSection, formOf } from "../form/index.ts"
import { t } from "../shell/index.ts"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc-settings.ts"

const { updateOIDCSettings } = AdminService.method

/** Keys are exchanged by themselves, unless somebody wants to do it by hand. */
export function Rotation(part: OidcSettingsPart) {
  return (
    <EditSection
      needs={updateOIDCSettings}
      title={t("rotation.title")}
      facts={<Facts {...part} />}
      form={rotationForm(part.settings)}
    />
  )
}

function Facts({ settings }: OidcSettingsPart) {
  const { keyRotation: rotation } = settings
  if (!rotation?.enabled) return <Alert tone="warning">{t("rotation.off")}</Alert>
  const { period, publishAhead } = rotation
  const values = {
    period: period ? durationText(period) : "",
    ahead: publishAhead ? durationText(publishAhead) : "",
  }
  return <p className="quiet section-lead">{t("rotation.on", values)}</p>
}

function rotationForm(settings: OIDCSettings) {
  const { keyRotation: rotation } = settings
  return formOf({
    initial: {
      enabled: rotation?.enabled ?? false,
      period: amountOf(rotation?.period, "days"),
      ahead: amountOf(rotation?.publishAhead, "days"),
    },
    save: ({ enabled, ...values }) => {
      const [period, publishAhead] = [durationOf(values.period), durationOf(values.ahead)]
      const times = { ...(period && { period }), ...(publishAhead && { publishAhead }) }
      return changeOidcSettings(settings, { keyRotation: { enabled, ...times } })
    },
    fields: ({ check, duration, values }) => [
      check("enabled", t("rotation.enabled"), t("rotation.enabled_hint")),
      values.enabled ? (
        <div className="pair pair-two" key="times">
          {duration("period", t("rotation.period"))}
          {duration("ahead", t("rotation.ahead"))}
        </div>
      ) : (
        <Alert key="off" tone="warning">
          {t("rotation.off")}
        </Alert>
      ),
    ],
  })
}
