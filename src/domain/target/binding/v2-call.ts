import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { DiagnosisService } from "../../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { restingOf } from "../call/call.ts"
import { type Kept, searchCalls } from "../call/runs.ts"
import { target } from "../model.ts"
import { targetIds } from "../view.ts"

export const v2 = share<Cx>()(DiagnosisService, {
  listTargetCalls: ({ targetId, pagination: asked }, cx) => {
    const found = searchCalls(cx, { targetId, page: pageOf(asked) })
    return {
      pagination: pagination(found),
      calls: found.rows.map((call) => toCall(cx, call)),
      resting: (targetId === "" ? targetIds(cx) : [targetId]).flatMap((id) => toResting(cx, id)),
    }
  },
})

function toResting(cx: Cx, targetId: string) {
  const resting = restingOf(cx, targetId)
  return resting ? [{ targetId, until: at(resting.until), error: resting.error }] : []
}

const toCall = (cx: Cx, { targetId, condition, key, time, tookMs, ...call }: Kept) => ({
  targetId,
  targetName: cx.store.state(cx, target, targetId).name,
  condition,
  requestId: key,
  creationDate: at(time),
  duration: durationFromMs(tookMs),
  status: call.status,
  answer: call.answer,
  error: call.error,
  passedOver: call.passedOver,
})
