import { fromJson } from "@bufbuild/protobuf"
import { durationFromMs, durationMs, ValueSchema } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import {
  DiagnosisService,
  ScriptLogLevel,
} from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { flows, flowTypes, parseFlow, parseTrigger, triggers } from "./flow-kind.ts"
import { type StoredRun, searchRuns } from "./run/runs.ts"
import { runTest } from "./run/test-run.ts"
import { membersOf, shapeFor } from "./script/members.ts"
import type { Effect, LogLine } from "./script/messages.ts"

export const v2 = bindHandlers<Cx>()(DiagnosisService, {
  listScriptRuns: ({ actionId, organizationId: orgId, pagination: request }, cx) => {
    const found = searchRuns(cx, { actionId, orgId, page: parsePage(request) })
    return { pagination: toPagination(found), runs: found.rows.map(toRun) }
  },
  listScriptMoments: () => ({
    moments: flowTypes.flatMap((flow) =>
      flows[flow].triggers.map((trigger) => ({
        flowType: `${flow}`,
        flowName: flows[flow].label,
        triggerType: `${trigger}`,
        triggerName: triggers[trigger].label,
        members: [...membersOf(shapeFor(flow, trigger))],
      })),
    ),
  }),
  tryScript: async ({ name, script, timeout, userId, ...req }, cx) => {
    const flowType = parseFlow(req.flowType)
    const { effects, logs, error, line, tookMs } = await runTest(cx, {
      name,
      script,
      userId,
      flowType,
      orgId: req.organizationId,
      timeoutMs: timeout ? durationMs(timeout) : 0,
      triggerType: parseTrigger(flowType, req.triggerType),
    })
    const duration = durationFromMs(tookMs)
    return { effects: effects.map(toEffect), logs: toLogs(logs), error, errorLine: line, duration }
  },
})

const toRun = ({ requestId, actionId, name, orgId, time, tookMs, logs, error }: StoredRun) => ({
  requestId,
  actionId,
  actionName: name,
  organizationId: orgId,
  error,
  creationDate: toTimestamp(time),
  duration: durationFromMs(tookMs),
  logs: toLogs(logs),
})

const toLogs = (logs: readonly LogLine[]) =>
  logs.map(({ level, text }) => ({ level: levels[level], text }))

/** The arguments arrive as JSON; missing values are null. */
const toEffect = ([kind, ...values]: Effect) => ({
  kind,
  values: values.map((value) => fromJson(ValueSchema, JSON.parse(JSON.stringify(value ?? null)))),
})

const levels = {
  log: ScriptLogLevel.LOG,
  warn: ScriptLogLevel.WARN,
  error: ScriptLogLevel.ERROR,
} as const
