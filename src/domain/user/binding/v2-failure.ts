import { share } from "../../../api/method.ts"
import { ActivityService } from "../../../gen/core/activity/v2/activity_service_pb.ts"
import { at, pagination } from "../../../kernel/answer.ts"
import { pageOf } from "../../../kernel/page.ts"
import type { Cx } from "../../../store/index.ts"
import { failedSignIns } from "../credential/failure.ts"

export const v2failure = share<Cx>()(ActivityService, {
  listFailedSignIns: (req, cx) => {
    const found = failedSignIns(cx, req.userId, pageOf(req.pagination))
    const shown = found.rows.map(({ time, known }) => ({
      creationDate: at(time),
      knownDevice: known === 1,
    }))
    return { pagination: pagination(found), failedSignIns: shown }
  },
})
