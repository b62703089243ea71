import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Check } from "../../kit/check.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../form/duration.ts"
import { DurationField } from "../form/duration-field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { useText } from "../shell/text.ts"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc.ts"

const { updateOIDCSettings } = AdminService.method

/** Keys are exchanged by themselves, unless somebody wants to do it by hand. */
export function Rotation(part: OidcSettingsPart) {
  const { t } = useText()
  return (
    <EditSection
      needs={updateOIDCSettings}
      title={t("rotation.title")}
      facts={<Facts {...part} />}
      form={(id, close) => <RotationForm {...part} {...{ id, close }} />}
    />
  )
}

function Facts({ settings }: OidcSettingsPart) {
  const { t, language } = useText()
  const { keyRotation: rotation } = settings
  if (!rotation?.enabled) return <Alert tone="warning">{t("rotation.off")}</Alert>
  const { period, publishAhead } = rotation
  const values = {
    period: period ? durationText(language, period) : "",
    ahead: publishAhead ? durationText(language, publishAhead) : "",
  }
  return <p className="quiet section-lead">{t("rotation.on", values)}</p>
}

type Draft = { readonly enabled: boolean; readonly period: Amount; readonly ahead: Amount }

type FormProps = OidcSettingsPart & { readonly id: string; readonly close: () => void }

function RotationForm({ settings, id, close }: FormProps) {
  const { t } = useText()
  const { keyRotation: rotation } = settings
  const form = useForm<Draft>({
    id,
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
    done: close,
  })
  const { values: draft, change } = form
  return (
    <Fields form={form} onCancel={close}>
      <Check
        label={t("rotation.enabled")}
        hint={t("rotation.enabled_hint")}
        checked={draft.enabled}
        onChange={(enabled) => change({ enabled })}
      />
      {draft.enabled && (
        <div className="pair pair-two">
          <DurationField
            label={t("rotation.period")}
            value={draft.period}
            onChange={(period) => change({ period })}
          />
          <DurationField
            label={t("rotation.ahead")}
            value={draft.ahead}
            onChange={(ahead) => change({ ahead })}
          />
        </div>
      )}
      {!draft.enabled && <Alert tone="warning">{t("rotation.off")}</Alert>}
    </Fields>
  )
}
