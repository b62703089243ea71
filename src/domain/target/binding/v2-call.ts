import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { DiagnosisService } from "../../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { pauseOf } from "../call/call.ts"
import { type RecordedCall, searchCalls } from "../call/recent-calls.ts"
import { target } from "../model.ts"
import { targetIds } from "../view.ts"

export const v2 = bindHandlers<Cx>()(DiagnosisService, {
  listTargetCalls: ({ targetId, pagination: request }, cx) => {
    const found = searchCalls(cx, { targetId, page: parsePage(request) })
    return {
      pagination: toPagination(found),
      calls: found.rows.map((call) => toCall(cx, call)),
      resting: (targetId === "" ? targetIds(cx) : [targetId]).flatMap((id) => toResting(cx, id)),
    }
  },
})

function toResting(cx: Cx, targetId: string) {
  const resting = pauseOf(cx, targetId)
  return resting ? [{ targetId, until: toTimestamp(resting.until), error: resting.error }] : []
}

const toCall = (cx: Cx, { targetId, condition, key, time, tookMs, ...call }: RecordedCall) => ({
  targetId,
  targetName: cx.store.state(cx, target, targetId).name,
  condition,
  requestId: key,
  creationDate: toTimestamp(time),
  duration: durationFromMs(tookMs),
  status: call.status,
  answer: call.answer,
  error: call.error,
  passedOver: call.passedOver,
})
