import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  DiagnosisService,
  ScriptLogLevel,
} from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { at, pagination } from "../../kernel/answer.ts"
import { pageOf } from "../../kernel/page.ts"
import type { Cx } from "../../store/index.ts"
import { type Kept, searchRuns } from "./run/runs.ts"

export const v2 = share<Cx>()(DiagnosisService, {
  listScriptRuns: ({ actionId, pagination: asked }, cx) => {
    const found = searchRuns(cx, { actionId, page: pageOf(asked) })
    return { pagination: pagination(found), runs: found.rows.map(toRun) }
  },
})

const toRun = ({ requestId, actionId, name, orgId, time, tookMs, logs, error }: Kept) => ({
  ...{ requestId, actionId, actionName: name, organizationId: orgId, error },
  creationDate: at(time),
  duration: durationFromMs(tookMs),
  logs: logs.map(({ level, text }) => ({ level: levels[level], text })),
})

const levels = {
  log: ScriptLogLevel.LOG,
  warn: ScriptLogLevel.WARN,
  error: ScriptLogLevel.ERROR,
} as const
