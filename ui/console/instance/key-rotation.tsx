import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { Alert } from "../../kit/index.ts"
import {
  amountFromDuration,
  defineForm,
  durationFromAmount,
  EditSection,
  formatDuration,
} from "../form/index.ts"
import { t } from "../shell/index.ts"
import { type OidcSettingsPart, updateOidcSettings } from "./oidc-settings.ts"

const { updateOIDCSettings } = AdminService.method

/** Automatic key rotation, unless keys are rotated manually. */
export function KeyRotation(part: OidcSettingsPart) {
  return (
    <EditSection
      needs={updateOIDCSettings}
      title={t("rotation.title")}
      facts={<RotationFacts {...part} />}
      form={rotationForm(part.settings)}
    />
  )
}

function RotationFacts({ settings }: OidcSettingsPart) {
  const { keyRotation: rotation } = settings
  if (!rotation?.enabled) return <Alert tone="warning">{t("rotation.off")}</Alert>
  const { period, publishAhead } = rotation
  const values = {
    period: period ? formatDuration(period) : "",
    ahead: publishAhead ? formatDuration(publishAhead) : "",
  }
  return <p className="quiet section-lead">{t("rotation.on", values)}</p>
}

function rotationForm(settings: OIDCSettings) {
  const { keyRotation: rotation } = settings
  return defineForm({
    initial: {
      enabled: rotation?.enabled ?? false,
      period: amountFromDuration(rotation?.period, "days"),
      ahead: amountFromDuration(rotation?.publishAhead, "days"),
    },
    save: ({ enabled, ...values }) => {
      const [period, publishAhead] = [
        durationFromAmount(values.period),
        durationFromAmount(values.ahead),
      ]
      const times = { ...(period && { period }), ...(publishAhead && { publishAhead }) }
      return updateOidcSettings(settings, { keyRotation: { enabled, ...times } })
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
