import type { ScriptMoment } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { SelectField } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { momentKey, momentLabel } from "./script.ts"

export type MomentProps = {
  readonly moments: readonly ScriptMoment[]
  readonly moment: ScriptMoment
  readonly onChange: (moment: ScriptMoment | undefined) => void
}

/** Selects a moment at which scripts run. */
export function MomentField({ moments, moment, onChange }: MomentProps) {
  return (
    <SelectField
      label={t("script.moment")}
      options={moments.map((one) => ({ value: momentKey(one), label: momentLabel(one) }))}
      value={momentKey(moment)}
      onChange={(key) => onChange(moments.find((one) => momentKey(one) === key))}
    />
  )
}
