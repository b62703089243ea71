import type { Action } from "../../../src/gen/core/action/v1/action_pb.ts"
import { ActionState } from "../../../src/gen/core/action/v1/action_pb.ts"
import type { ScriptMoment } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { has, t } from "../shell/index.ts"

export const isActive = ({ state }: Action): boolean => state !== ActionState.INACTIVE

/** The key of a moment: its flow and trigger. */
export const momentKey = ({ flowType, triggerType }: ScriptMoment): string =>
  `${flowType}.${triggerType}`

/** The translated name of a moment, otherwise the server's. */
export function momentLabel(moment: ScriptMoment): string {
  const [flow, trigger] = [`script.flow.${moment.flowType}`, `script.trigger.${moment.triggerType}`]
  return [
    has(flow) ? t(flow) : moment.flowName,
    has(trigger) ? t(trigger) : moment.triggerName,
  ].join(": ")
}
