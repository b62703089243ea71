import type { ScriptMoment } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { SelectField } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { keyOf, wordsOf } from "./script.ts"

export type MomentProps = {
  readonly moments: readonly ScriptMoment[]
  readonly moment: ScriptMoment
  readonly choose: (moment: ScriptMoment | undefined) => void
}

/** One of the moments at which scripts run. */
export function MomentField({ moments, moment, choose }: MomentProps) {
  return (
    <SelectField
      label={t("script.moment")}
      options={moments.map((one) => ({ value: keyOf(one), label: wordsOf(one) }))}
      value={keyOf(moment)}
      onChange={(key) => choose(moments.find((one) => keyOf(one) === key))}
    />
  )
}
