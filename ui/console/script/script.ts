import type { Action } from "../../../src/gen/core/action/v1/action_pb.ts"
import { ActionState } from "../../../src/gen/core/action/v1/action_pb.ts"
import type { ScriptMoment } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { has, t } from "../shell/index.ts"

export const isActive = ({ state }: Action): boolean => state !== ActionState.INACTIVE

/** What a moment is known by: its flow and its trigger. */
export const keyOf = ({ flowType, triggerType }: ScriptMoment): string =>
  `${flowType}.${triggerType}`

/** A moment in the reader's words, else in the server's. */
export function wordsOf(moment: ScriptMoment): string {
  const [flow, trigger] = [`script.flow.${moment.flowType}`, `script.trigger.${moment.triggerType}`]
  return [
    has(flow) ? t(flow) : moment.flowName,
    has(trigger) ? t(trigger) : moment.triggerName,
  ].join(": ")
}
