import { fromJson } from "@bufbuild/protobuf"
import { durationFromMs, durationMs, ValueSchema } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  DiagnosisService,
  ScriptLogLevel,
} from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, pagination } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { flowOf, flows, flowTypes, triggerOf, triggers } from "./flow-kind.ts"
import { rehearse } from "./run/rehearse.ts"
import { type Kept, searchRuns } from "./run/runs.ts"
import { membersOf, shapeAt } from "./script/offered.ts"
import type { Effect, LogLine } from "./script/wire.ts"

export const v2 = share<Cx>()(DiagnosisService, {
  listScriptRuns: ({ actionId, organizationId: orgId, pagination: asked }, cx) => {
    const found = searchRuns(cx, { actionId, orgId, page: pageOf(asked) })
    return { pagination: pagination(found), runs: found.rows.map(toRun) }
  },
  listScriptMoments: () => ({
    moments: flowTypes.flatMap((flow) =>
      flows[flow].triggers.map((trigger) => ({
        flowType: `${flow}`,
        flowName: flows[flow].words,
        triggerType: `${trigger}`,
        triggerName: triggers[trigger].words,
        members: [...membersOf(shapeAt(flow, trigger))],
      })),
    ),
  }),
  tryScript: async ({ name, script, timeout, userId, ...req }, cx) => {
    const flowType = flowOf(req.flowType)
    const { effects, logs, error, line, tookMs } = await rehearse(cx, {
      name,
      script,
      userId,
      flowType,
      orgId: req.organizationId,
      timeoutMs: timeout ? durationMs(timeout) : 0,
      triggerType: triggerOf(flowType, req.triggerType),
    })
    const duration = durationFromMs(tookMs)
    return { effects: effects.map(toEffect), logs: toLogs(logs), error, errorLine: line, duration }
  },
})

const toRun = ({ requestId, actionId, name, orgId, time, tookMs, logs, error }: Kept) => ({
  requestId,
  actionId,
  actionName: name,
  organizationId: orgId,
  error,
  creationDate: at(time),
  duration: durationFromMs(tookMs),
  logs: toLogs(logs),
})

const toLogs = (logs: readonly LogLine[]) =>
  logs.map(({ level, text }) => ({ level: levels[level], text }))

/** What it was called with has come as JSON; what is not there is null. */
const toEffect = ([kind, ...values]: Effect) => ({
  kind,
  values: values.map((value) => fromJson(ValueSchema, JSON.parse(JSON.stringify(value ?? null)))),
})

const levels = {
  log: ScriptLogLevel.LOG,
  warn: ScriptLogLevel.WARN,
  error: ScriptLogLevel.ERROR,
} as const
