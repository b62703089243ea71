import { useState } from "react"
import { Alert } from "../../kit/alert.tsx"
import { Check } from "../../kit/check.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../duration.ts"
import { DurationField } from "../duration-field.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc.ts"

/** Keys are exchanged by themselves, unless somebody wants to do it by hand. */
export function Rotation(part: OidcSettingsPart) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("rotation.title")}
      facts={<Facts {...part} />}
      form={(close) => <RotationForm {...part} close={close} />}
    />
  )
}

function Facts({ settings }: OidcSettingsPart) {
  const { t, language } = useHouse()
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

function RotationForm({ close, ...part }: OidcSettingsPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { keyRotation: rotation } = part.settings
  const [draft, setDraft] = useState<Draft>({
    enabled: rotation?.enabled ?? false,
    period: amountOf(rotation?.period, "days"),
    ahead: amountOf(rotation?.publishAhead, "days"),
  })
  const change = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields })
  const save = () => {
    const period = durationOf(draft.period)
    const publishAhead = durationOf(draft.ahead)
    const keyRotation = {
      enabled: draft.enabled,
      ...(period && { period }),
      ...(publishAhead && { publishAhead }),
    }
    return changeOidcSettings(core, part, { keyRotation })
  }
  const action = useSaving(save, part.onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
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
    </ActionForm>
  )
}
